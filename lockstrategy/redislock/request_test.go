package redislock

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
)

// A server that does not answer keeps a caller for the request timeout, and not for its lease. By default that is two seconds, or a third
// of a shorter lease.
func TestARequestIsBounded(t *testing.T) {
	for timing, want := range map[lockstrategy.Timing]time.Duration{
		{Request: 500 * time.Millisecond}: 500 * time.Millisecond, {}: 2 * time.Second, {Expiry: 3 * time.Second}: time.Second,
	} {
		bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
			hook := new(bubble.SlowNode)
			hook.Late.Store(int64(time.Hour))
			client := bubble.Client(t, server)
			client.AddHook(hook)
			r, err := New(client, timing)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err = r.Acquire(t.Context(), "k"); !errors.Is(err, lockstrategy.ErrUnavailable) || time.Since(began) != want {
				t.Errorf("after %s: %v, want ErrUnavailable after %s", time.Since(began), err, want)
			}
			_ = r.Close()
		})
	}
}

// While a server refuses requests for now, a caller tries again until its wait ends, and is told of the refusal. One that tries once is
// told immediately.
func TestARefusalIsTold(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		r := newRedis(t, server, lockstrategy.Timing{})
		server.SetError("READONLY You can't write against a read only replica.")
		for took, options := range map[time.Duration][]lockstrategy.Option{
			0: {lockstrategy.TryOnce()}, time.Second: {lockstrategy.WaitAtMost(time.Second)},
		} {
			began := time.Now()
			_, err := r.Acquire(t.Context(), "k", options...)
			if !errors.Is(err, lockstrategy.ErrUnavailable) || errors.As(err, new(lockstrategy.OtherHolder)) || time.Since(began) != took {
				t.Errorf("it is told %v after %s, want %s", err, time.Since(began), took)
			}
		}
		server.SetError("")
	})
}
