package ratelimit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/systems/ratelimit"
)

// onRedis are the algorithms that count in Redis, and the most calls that any window sees of each, of the limit below.
var onRedis = map[string]int{"r2": 82, "r3": 80, "r4": 40, "r5": 80, "r6": 40, "r8": 80, "r9": 80}

// jump sets the clock of Redis, which stores times at which keys expire. So a clock that is set back keeps them for longer. One that is
// set ahead deletes them.
func (c *clock) jump(d time.Duration) {
	c.SetTime(c.now.Add(d))
	for _, key := range c.Keys() {
		switch left := c.TTL(key); {
		case left == 0: // it has no expiry
		case left > d:
			c.SetTTL(key, left-d)
		default:
			c.Del(key)
		}
	}
}

// A clock that is set back costs a window of refusals at most. No window admits more calls than a new limit would. The limit is unused,
// half used or used up before, and calls go on.
func TestTheClockIsSetBack(t *testing.T) {
	for name, most := range onRedis {
		for before, back := range map[int]time.Duration{0: time.Hour, 20: 20 * time.Second, 60: time.Hour} {
			t.Run(fmt.Sprintf("%s/%d calls before/%s", name, before, back), func(t *testing.T) {
				t.Parallel()
				setBack(t, name, before, back, most)
			})
		}
	}
}

func setBack(t *testing.T, name string, before int, back time.Duration, most int) {
	limit := ratelimit.Limit{Key: "rates", Count: 40, Window: time.Minute}
	server := newClock(t)
	l := open(t, client(t, server.Addr()), name, 1)[0]
	began := server.now
	now := began             // of a clock that does not jump
	var refused time.Time    // since when all calls are; zero: the last was admitted
	var admitted []time.Time // when
	call := func() {
		state, err := l.Allow(t.Context(), limit)
		refusal := new(ratelimit.Refusal)
		switch {
		case errors.As(err, &refusal) && refused.IsZero():
			refused = now
		case err == nil:
			admitted, refused = append(admitted, now), time.Time{}
		case refusal.Limit.Count == 0:
			t.Fatal(err)
		}
		if !refused.IsZero() && now.Sub(refused) >= limit.Window || max(state.Reset, refusal.After) > limit.Window {
			t.Fatalf("%s after the jump, calls are refused since %s, and the answer is %+v, %v",
				now.Sub(began), refused.Sub(began), state, err)
		}
	}
	for range before {
		call()
	}
	server.jump(-back)
	server.now, refused = server.now.Add(-back), time.Time{} // the window of refusals begins with the first after the jump
	for _, often := range []int{1, 3} {                      // one call in two seconds is below the limit
		for range 45 { // a window and a half
			const step = 2 * time.Second
			server.pass(step)
			now = now.Add(step)
			for range often {
				call()
			}
		}
	}
	if n, _ := ratelimit.Worst(admitted, limit.Window); n > most {
		t.Errorf("%d calls in a window, want %d at most", n, most)
	}
}

// A clock that is set ahead is a new limit, and no more.
func TestTheClockIsSetAhead(t *testing.T) {
	limit := ratelimit.Limit{Key: "rates", Count: 40, Window: time.Minute}
	for name := range onRedis {
		server := newClock(t)
		l := open(t, client(t, server.Addr()), name, 1)[0]
		before, _ := ask(t, l, limit, 60)
		server.jump(time.Hour)
		if after, refusal := ask(t, l, limit, 60); after != before || refusal == nil || refusal.After > limit.Window {
			t.Errorf("%s admits %d calls after the jump, want %d as before; then %v", name, after, before, refusal)
		}
	}
}

// A server has stored times of a clock that was an hour ahead. A refusal lets them expire, and those that follow do not prolong that.
func TestARealServerThatWasAnHourAhead(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		for name := range onRedis {
			key := "ratelimit:" + name + ":rates"
			l := open(t, c, name, 1)[0]
			ask(t, l, rates, rates.Count+2)
			key = ahead(t, c, name, key)
			_, refusal := ask(t, l, rates, 1)
			if refusal == nil || refusal.After > rates.Window {
				t.Fatalf("%s: the refusal is %v, want a window at most", name, refusal)
			}
			if left := c.PTTL(t.Context(), key).Val(); left <= 0 || left > rates.Window {
				t.Errorf("%s: the key expires in %s, want a window at most", name, left)
			}
			c.PExpire(t.Context(), key, rates.Window/2)
			if _, refusal = ask(t, l, rates, 1); refusal == nil || refusal.After > rates.Window/2 {
				t.Errorf("%s: half a window later the refusal is %v", name, refusal)
			}
			if left := c.PTTL(t.Context(), key).Val(); left <= 0 || left > rates.Window/2 {
				t.Errorf("%s: half a window later the key expires in %s", name, left)
			}
		}
	})
}

// ahead moves what is stored under key an hour ahead, and returns the key.
func ahead(t *testing.T, c *redis.Client, name, key string) string {
	t.Helper()
	const hour = 3600
	var err error
	switch name {
	case "r4":
		err = c.Eval(t.Context(), `for _, at in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
			redis.call('zincrby', KEYS[1], ARGV[1], at)
		end`, []string{key}, int64(hour*1_000_000)).Err()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
	case "r6", "r8":
		key = "rate:" + key
		err = c.IncrByFloat(t.Context(), key, hour).Err()
	}
	if err = errors.Join(err, c.PExpire(t.Context(), key, rates.Window+hour*time.Second).Err()); err != nil {
		t.Fatal(err)
	}
	return key
}

// A key that holds no counter is named, with what to do. A counter that cannot grow refuses: fail open must not admit.
func TestAnotherProgramHasWrittenTheKey(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		for name := range onRedis {
			key := "ratelimit:" + name + ":rates"
			if name == "r6" || name == "r8" {
				key = "rate:" + key
			}
			l := open(t, c, name, 1)[0]
			for _, write := range []func() error{
				func() error { return c.Set(t.Context(), key, "many", 0).Err() },
				func() error { return errors.Join(c.Del(t.Context(), key).Err(), c.RPush(t.Context(), key, 1).Err()) },
			} {
				if err := write(); err != nil {
					t.Fatal(err)
				}
				if _, err := l.Allow(t.Context(), rates); !errors.Is(err, ratelimit.ErrUnavailable) ||
					!strings.Contains(err.Error(), "the key "+key+" holds no counter of ours: delete it") {
					t.Errorf("%s: got %v, want ErrUnavailable with the key and what to do", name, err)
				}
			}
			if name == "r4" { // a set
				continue
			}
			if err := c.Set(t.Context(), key, "9223372036854775807", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if _, refusal := ask(t, l, rates, 2); refusal == nil || refusal.After < rates.Window/2 || refusal.After > rates.Window {
				t.Errorf("%s at the largest number: the refusal is %v, want one for a window", name, refusal)
			}
		}
	})
}
