package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"locklab/lockstrategy/pubsub"
)

// A server that does not answer keeps a caller for the request timeout, and not for its lease. By default that is two seconds, or a third
// of a shorter lease.
func TestARequestIsBounded(t *testing.T) {
	for timing, want := range map[Timing]time.Duration{
		{Request: 500 * time.Millisecond}: 500 * time.Millisecond, {}: 2 * time.Second, {Expiry: 3 * time.Second}: time.Second,
	} {
		inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
			hook := new(slowNode)
			hook.late.Store(int64(time.Hour))
			client := inMemory(t, server)
			client.AddHook(hook)
			r, err := NewRedis(client, timing)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err = r.Acquire(t.Context(), "k"); !errors.Is(err, ErrUnavailable) || time.Since(began) != want {
				t.Errorf("after %s: %v, want ErrUnavailable after %s", time.Since(began), err, want)
			}
			_ = r.Close()
		})
	}
}

// A request that was never sent is not compensated. Package replies tests the other errors.
func TestWhatMayHaveRun(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("node: %w", errHanging), false},
		{&net.OpError{Op: "dial", Err: io.EOF}, false},
		{context.DeadlineExceeded, true},
	} {
		if got := mayHaveRun(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}

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
		options := []Option{func(r *Request) { r.Yield = Unknown }}
		began := time.Now()
		_, err := all.Poll(t.Context(), "k", options, pollInterval, func(Request) (g Grant, granted bool, err error) {
			tries = append(tries, time.Now())
			return g, len(tries) > 5, nil
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
		defer w.stop()
		tries, began, err := 0, time.Now(), w.yield(t.Context(), 0)
		for ; err == nil; err = w.wait(t.Context(), time.Hour) {
			if tries++; tries == 4 {
				break
			}
			if tries == 3 { // it is subscribed, and was told so
				another.Publish(t.Context(), channelOf("k"), "0")
				synctest.Wait()
			}
			if tries == 2 {
				time.AfterFunc(longestWait/2, func() { another.Publish(context.Background(), channelOf("k"), "0") })
			}
		}
		if waited := time.Since(began); err != nil || waited != longestWait/2 {
			t.Errorf("after %s and %d tries: %v, want %s", waited, tries, err, longestWait/2)
		}
	})
}

// A server refuses requests for now, and executes them again later. Then callers are told of the other holder, and not of an outage: the
// caller that competes, and one that waits behind it.
func TestARefusalEndsWithTheNextTry(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		c, foreign := newCohort(t, newRedis(t, server, Timing{}), HandOff{}), newRedis(t, server, Timing{})
		lease := mustAcquire(t, foreign, "k")
		server.SetError("READONLY You can't write against a read only replica.")
		acquire := func(wait time.Duration) <-chan error {
			failed := make(chan error, 1)
			go func() { _, err := c.Acquire(t.Context(), "k", WaitAtMost(wait)); failed <- err }()
			synctest.Wait()
			return failed
		}
		first, second, third, behind := acquire(time.Second), acquire(4*time.Second), acquire(3*time.Second), acquire(3*time.Second/2)
		for name, failed := range map[string]<-chan error{"first": first, "last": behind} {
			if err := <-failed; !errors.Is(err, ErrUnavailable) || errors.As(err, new(OtherHolder)) {
				t.Errorf("while the server refuses, the %s caller is told %v", name, err)
			}
		}
		for option, took := range map[string]time.Duration{"TryOnce": 0, "WaitAtMost": time.Second} { // without a cohort
			began, options := time.Now(), []Option{WaitAtMost(time.Second)}
			if option == "TryOnce" {
				options = append(options, TryOnce())
			}
			_, err := foreign.Acquire(t.Context(), "k", options...)
			if !errors.Is(err, ErrUnavailable) || errors.As(err, new(OtherHolder)) || time.Since(began) != took {
				t.Errorf("while the server refuses, %s is told %v after %s", option, err, time.Since(began))
			}
		}
		server.SetError("")
		for name, failed := range map[string]<-chan error{"second": second, "third": third} {
			if err := <-failed; errors.Is(err, ErrUnavailable) || !errors.As(err, new(OtherHolder)) {
				t.Errorf("when the server executes again, the %s caller is told %v", name, err)
			}
		}
		mustRelease(t, lease)
	})
}

// While a server hangs, a caller whose wait ends is told that the server gives no answer, also behind another caller. Whether the key is
// held is not known then.
func TestACallerIsToldOfAServerThatHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		hook := new(slowNode)
		hook.late.Store(int64(time.Hour))
		client := inMemory(t, server)
		client.AddHook(hook)
		r, err := NewRedis(client, Timing{Request: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		c, failed := newCohort(t, r, HandOff{}), make(chan error, 20)
		for range cap(failed) { // some compete, and some are in the queue when their wait ends
			go func() { _, err := c.Acquire(t.Context(), "k", WaitAtMost(1300*time.Millisecond)); failed <- err }()
			time.Sleep(200 * time.Millisecond)
		}
		for range cap(failed) {
			if err := <-failed; !errors.Is(err, ErrUnavailable) || errors.As(err, new(OtherHolder)) {
				t.Errorf("it is told %v, want ErrUnavailable", err)
			}
		}
		_ = r.Close()
	})
}

// A release that the server refuses for now is repeated for the time of one request.
func TestARefusedReleaseEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		r := newRedis(t, server, Timing{})
		lease, began := mustAcquire(t, r, "k"), time.Now()
		server.SetError("READONLY You can't write against a read only replica.")
		err := lease.Release(t.Context())
		if took := time.Since(began); !errors.Is(err, ErrUnavailable) || took < r.timeout || took > r.timeout+2*pollInterval {
			t.Errorf("after %s: %v, want ErrUnavailable after %s", took, err, r.timeout)
		}
		server.SetError("")
	})
}

// The error of a script names the command that was refused: Redis often says only the line.
func TestTheRefusedCommandIsNamed(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		r := newRedis(t, server, Timing{})
		server.SetError("ERR The user executing the script can't run this command or subcommand script: f, on @user_script:14.")
		_, err := r.Acquire(t.Context(), "k")
		if err == nil || !strings.Contains(err.Error(), "acquire: SET: ERR The user") {
			t.Errorf("it says %v, want the command of line 14", err)
		}
		server.SetError("")
	})
}

// A caller that is not subscribed waits for its strategy's interval, at most. No other bound shortens that: etcd's is longer than
// longestWait.
func TestAWaiterKeepsItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, longest := waiter{life: t.Context(), interval: positionLease / 3, wake: make(chan struct{})}, time.Duration(0)
		for range 200 {
			began := time.Now()
			if err := w.wait(t.Context(), w.interval); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(began))
		}
		if longest <= longestWait || longest > w.interval {
			t.Errorf("the longest of 200 waits was %s, want up to %s", longest, w.interval)
		}
	})
}

// A wait is silent only when nothing has woken the waiter: not after a release that pays its debt, nor after one that does not.
func TestAWaitIsSilentWithoutAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			debt  yielding
			woken bool
		}{{0, false}, {0, true}, {2, true}} {
			w := waiter{life: t.Context(), interval: pollInterval, wake: make(chan struct{}, 1), yielding: c.debt}
			if c.woken {
				wakeUp(w.wake)
			}
			if silent, err := w.sleep(t.Context(), time.Second); err != nil || silent == c.woken {
				t.Errorf("%+v: silent = %t (%v)", c, silent, err)
			}
		}
	})
}

// A release that fails has published nothing. The next message of another process is not taken for this process's own.
func TestAFailedReleaseCountsNoMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		r, another := newRedis(t, server, Timing{}), inMemory(t, server)
		defer r.hub.Listen(channelOf("k"), func(bool) {})()
		time.Sleep(time.Second)
		lease := mustAcquire(t, r, "k")
		server.SetError("ERR broken")
		if err := lease.Release(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("the release says %v", err)
		}
		server.SetError("")
		time.Sleep(time.Minute) // the release is repeated
		another.Publish(t.Context(), channelOf("k"), "0")
		synctest.Wait()
		if passed := r.hub.ByOthers(channelOf("k")); passed != 1 {
			t.Errorf("it counts %d messages of others, want 1", passed)
		}
	})
}
