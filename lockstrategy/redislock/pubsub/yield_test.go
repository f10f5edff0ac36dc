package pubsub_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lockstrategy/redislock/pubsub"
)

// released is the message of a release that n other processes have received, and this one will.
func released(t *testing.T, hub *pubsub.Hub, n int64) *pubsub.Published {
	t.Helper()
	p, err := hub.Publish("c", func() (int64, error) { return n + 1, nil })
	if err != nil || p.Others != n {
		t.Fatalf("%d others, %v; want %d", p.Others, err, n)
	}
	return p
}

// yield begins to let others go first, and returns when that has ended.
func yield(t *testing.T, hub *pubsub.Hub, p *pubsub.Published, held func() bool) (ended chan time.Duration) {
	t.Helper()
	ended = make(chan time.Duration, 1)
	began := time.Now()
	go func() {
		hub.Yield(context.Background(), "c", p, held)
		ended <- time.Since(began)
	}()
	synctest.Wait()
	return ended
}

func always(answer bool) func() bool { return func() bool { return answer } }

// subscribed runs f in a bubble, with a hub that is subscribed to a channel.
func subscribed(t *testing.T, f func(t *testing.T, hub *pubsub.Hub, proxy *faultproxy.Proxy, client *redis.Client)) {
	t.Helper()
	inBubble(t, func(t *testing.T, proxy *faultproxy.Proxy, client *redis.Client) {
		hub := pubsub.New(client, false)
		defer hub.Close()
		defer hub.Listen("c", func(bool) {})()
		synctest.Wait()
		f(t, hub, proxy, client)
	})
}

// How many others are notified by a release is known only when something was published. This process does not count.
func TestPublishCountsOthers(t *testing.T) {
	lost := errors.New("no answer")
	for name, c := range map[string]struct {
		received int64
		err      error
		others   int64
	}{
		"to itself only": {1, nil, 0}, "to itself and two others": {3, nil, 2}, "to nobody": {0, nil, 0},
		"nothing": {-2, nil, -2}, "without an answer": {0, lost, -1},
	} {
		subscribed(t, func(t *testing.T, hub *pubsub.Hub, _ *faultproxy.Proxy, _ *redis.Client) {
			p, err := hub.Publish("c", func() (int64, error) { return c.received, c.err })
			if p.Others != c.others || !errors.Is(err, c.err) {
				t.Errorf("%s: %d others, %v; want %d, %v", name, p.Others, err, c.others, c.err)
			}
		})
	}
}

// A process goes on when the others have released as well, also those that did so before it began to wait. Its own message does not count.
func TestYieldCountsTheMessagesOfOthers(t *testing.T) {
	subscribed(t, func(t *testing.T, hub *pubsub.Hub, _ *faultproxy.Proxy, client *redis.Client) {
		for range 2 {
			_, _ = hub.Publish("c", func() (int64, error) { return -2, nil }) // no message will come
			p := released(t, hub, 3)
			publish(t, client) // its own
			publish(t, client)
			ended := yield(t, hub, p, always(true))
			publish(t, client)
			select {
			case <-ended:
				t.Error("it goes on after two messages of others")
			default:
			}
			publish(t, client)
			if took := <-ended; took != 0 {
				t.Errorf("it went on %s after the third message", took)
			}
		}
	})
}

// A key that is free although others were notified is wanted by nobody. One listener costs 3 ms, and many no more than a turn.
func TestYieldLeavesAFreeKey(t *testing.T) {
	for n, want := range map[int64]time.Duration{1: 3 * time.Millisecond, 10: 30 * time.Millisecond, 1000: 100 * time.Millisecond} {
		subscribed(t, func(t *testing.T, hub *pubsub.Hub, _ *faultproxy.Proxy, _ *redis.Client) {
			if took := <-yield(t, hub, released(t, hub, n), always(false)); took != want {
				t.Errorf("%d listeners that do not want the key cost %s, want %s", n, took, want)
			}
		})
	}
}

// When the connection breaks, the message that was waited for may be lost: it looks at the key instead of waiting for a second.
func TestYieldLooksAgainWhenAMessageMayBeLost(t *testing.T) {
	subscribed(t, func(t *testing.T, hub *pubsub.Hub, proxy *faultproxy.Proxy, _ *redis.Client) {
		held := true
		ended := yield(t, hub, released(t, hub, 1), func() bool { return held })
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("the key is held, and it does not wait for its release")
		default:
		}
		held = false
		proxy.Cut()
		if took := <-ended; took > 110*time.Millisecond {
			t.Errorf("it went on %s after it had begun", took)
		}
	})
}

// A hub that is closed lets nobody go first.
func TestCloseEndsAYield(t *testing.T) {
	subscribed(t, func(t *testing.T, hub *pubsub.Hub, _ *faultproxy.Proxy, _ *redis.Client) {
		ended := yield(t, hub, released(t, hub, 1), always(true))
		hub.Close()
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("it waits although the hub is closed")
		}
	})
}
