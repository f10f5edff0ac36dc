package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/pubsub"
)

// A server that does not answer keeps a caller for the request timeout, and not for its lease.
func TestARequestIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		hook := new(slowNode)
		hook.late.Store(int64(time.Hour))
		client := inMemory(t, server)
		client.AddHook(hook)
		r, err := NewRedis(client, Timing{Lease: 30 * time.Second, Request: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err = r.Acquire(t.Context(), "k"); !errors.Is(err, ErrUnavailable) || time.Since(began) != 500*time.Millisecond {
			t.Errorf("after %s: %v, want ErrUnavailable after 500ms", time.Since(began), err)
		}
		_ = r.Close()
	})
}

// What was never sent, or was refused, is not compensated.
func TestWhatMayHaveRun(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{&net.OpError{Op: "dial", Err: io.EOF}, false},
		{fmt.Errorf("node: %w", errHanging), false},
		{answer("OOM command not allowed"), false},
		{&net.OpError{Op: "read", Err: io.EOF}, true},
		{io.EOF, true},
		{context.DeadlineExceeded, true},
	} {
		if got := mayHaveRun(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}

// answer is an error that the server answers, as [redis.Error].
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

var _ redis.Error = answer("")

// A strategy that is closed grants nothing: nobody would repeat its releases.
func TestAClosedStrategyGrantsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		single, quorum, polled := newRedis(t, server, Timing{}), sameNodes(t, []*miniredis.Miniredis{server}), newFake(t, time.Minute)
		_, _ = single.Close(), quorum.Close()
		polled.Sessions.Close()
		for _, s := range []Strategy{single, quorum, polling{polled}} {
			if lease, err := s.Acquire(t.Context(), "k"); lease != nil || !errors.Is(err, ErrUnavailable) {
				t.Errorf("%T: %v", s, err)
			}
		}
		if keys := server.Keys(); len(keys) > 0 {
			t.Errorf("the server has %v", keys)
		}
	})
}

// A process lets others go first that poll. From then on it polls like them.
func TestAProcessThatYieldedToOthersThatPollPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Time
		all := NewSessions()
		defer all.Close()
		options := []Option{func(r *Request) { r.Others = Unknown }}
		began := time.Now()
		_, err := all.Poll(t.Context(), "k", options, pollInterval, func(Request) (*Lease, error) {
			if tries = append(tries, time.Now()); len(tries) > 5 {
				return &Lease{}, nil
			}
			return nil, nil
		})
		if waited := tries[0].Sub(began); err != nil || waited <= pollInterval {
			t.Errorf("it tried after %s: %v", waited, err)
		}
		for i := range tries[1:] {
			if pause := tries[i+1].Sub(tries[i]); pause > pollInterval {
				t.Errorf("try %d came %s after the one before, want %s at most", i+2, pause, pollInterval)
			}
		}
	})
}

// A message that comes while a try is under way leads to one more try, immediately.
func TestAMessageDuringATryIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		r, another := newRedis(t, server, Timing{}), inMemory(t, server)
		w := waiter{hubs: []*pubsub.Hub{r.hub}, channel: channelOf("k"), life: t.Context(), interval: pollInterval}
		tries, began := 0, time.Now()
		_, err := w.acquire(t.Context(), "k", nil, func(Request) (*Lease, time.Duration, error) {
			if tries++; tries == 4 {
				return &Lease{}, 0, nil
			}
			if tries == 3 { // it is subscribed, and was told so
				another.Publish(t.Context(), channelOf("k"), "0")
				synctest.Wait()
			}
			if tries == 2 {
				time.AfterFunc(time.Minute, func() { another.Publish(context.Background(), channelOf("k"), "0") })
			}
			return nil, time.Hour, nil
		})
		if waited := time.Since(began); err != nil || waited != time.Minute {
			t.Errorf("after %s and %d tries: %v, want a minute", waited, tries, err)
		}
	})
}
