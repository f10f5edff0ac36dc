package ratelimit_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/systems/ratelimit"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// open opens the limiters of nodes over one Redis.
func open(t *testing.T, c redis.UniversalClient, name string, nodes int) []ratelimit.Limiter {
	t.Helper()
	algorithm, ok := ratelimit.Find(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	limiters := make([]ratelimit.Limiter, nodes)
	for i := range limiters {
		l, err := algorithm.Open(c, nodes)
		if err != nil {
			t.Fatal(err)
		}
		limiters[i] = l
	}
	return limiters
}

// rates is long enough that no window ends during a test.
var rates = ratelimit.Limit{Key: "rates", Count: 24, Window: time.Hour}

// ask asks n times, one after the other, and returns how many calls were admitted, and the last refusal.
func ask(t *testing.T, l ratelimit.Limiter, limit ratelimit.Limit, n int) (admitted int, refusal *ratelimit.Refusal) {
	t.Helper()
	for range n {
		_, err := l.Allow(t.Context(), limit)
		switch {
		case err == nil:
			admitted++
		case !errors.As(err, &refusal) || !errors.Is(err, ratelimit.ErrRefused):
			t.Fatal(err)
		}
	}
	return admitted, refusal
}

func TestOneNode(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		for name, want := range map[string]int{
			"r0": 60, "r1": 24, "r2": 25, "r3": 24, "r4": 24, "r5": 24, "r6": 2, "r7": 24, "r8": 24, "r9": 24,
		} {
			t.Run(name, func(t *testing.T) {
				admitted, refusal := ask(t, open(t, c, name, 1)[0], rates, 60)
				if admitted != want {
					t.Errorf("%d calls were admitted, want %d", admitted, want)
				}
				if want == 60 {
					return
				}
				if refusal == nil || refusal.After <= 0 || refusal.After > rates.Window || refusal.Limit != rates {
					t.Errorf("the refusal is %+v", refusal)
				}
				if text := refusal.Error(); !strings.Contains(text, "come back in") || strings.Contains(text, "ratelimit:"+name) {
					t.Errorf("the refusal says: %s", text)
				}
			})
		}
	})
}

// Twelve nodes ask simultaneously, more often than the limit allows.
func TestTwelveNodes(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		for name, want := range map[string]int{"r1": 12 * 24, "r3": 24, "r4": 24, "r5": 24, "r6": 2, "r7": 24, "r8": 24} {
			t.Run(name, func(t *testing.T) {
				var admitted atomic.Int64
				var nodes sync.WaitGroup
				for _, l := range open(t, c, name, 12) {
					nodes.Go(func() {
						n, _ := ask(t, l, rates, 30)
						admitted.Add(int64(n))
					})
				}
				nodes.Wait()
				if got := admitted.Load(); got != int64(want) {
					t.Errorf("%d calls were admitted, want %d", got, want)
				}
			})
		}
	})
}

// A counter that another program left without an expiry, full: one script gives it one, and the two commands never do.
func TestACounterWithoutAnExpiry(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		for name, repairs := range map[string]bool{"r3": true, "r5": false} {
			key := "ratelimit:" + name + ":rates"
			if err := c.Set(t.Context(), key, 99, 0).Err(); err != nil {
				t.Fatal(err)
			}
			if _, refusal := ask(t, open(t, c, name, 1)[0], rates, 1); refusal == nil || refusal.After < rates.Window/2 {
				t.Errorf("%s: the counter is full, and the refusal is %+v", name, refusal)
			}
			if ttl := c.PTTL(t.Context(), key).Val(); (ttl > 0) != repairs {
				t.Errorf("%s leaves the expiry %s", name, ttl)
			}
		}
	})
}

// Refused calls are not counted, and do not make the window longer.
func TestARefusedCallChangesNothing(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		for name, size := range map[string]func(key string) int64{
			"r3": func(key string) int64 { n, _ := c.Get(t.Context(), key).Int64(); return n },
			"r4": func(key string) int64 { return c.ZCard(t.Context(), key).Val() },
		} {
			if ask(t, open(t, c, name, 1)[0], rates, 60); size("ratelimit:"+name+":rates") != int64(rates.Count) {
				t.Errorf("%s counts %d calls of %d", name, size("ratelimit:"+name+":rates"), rates.Count)
			}
		}
	})
}

func TestAlgorithmsShareNoCounter(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		ask(t, open(t, c, "r3", 1)[0], rates, 60)
		for _, name := range []string{"r2", "r4", "r5", "r6"} {
			if admitted, _ := ask(t, open(t, c, name, 1)[0], rates, 1); admitted != 1 {
				t.Errorf("%s refuses, because r3 has used its limit", name)
			}
		}
		other := rates
		other.Key = "bookings"
		if admitted, _ := ask(t, open(t, c, "r3", 1)[0], other, 1); admitted != 1 {
			t.Error("an operation is refused, because another one has used its limit")
		}
	})
}

func TestState(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		c := client(t, testenv.Redis(t, real).Addr)
		for _, name := range []string{"r1", "r2", "r3", "r4", "r5"} {
			l := open(t, c, name, 1)[0]
			for n := 1; n <= rates.Count; n++ {
				s, err := l.Allow(t.Context(), rates)
				if err != nil || s.Remaining != rates.Count-n || s.Reset <= 0 || s.Reset > rates.Window {
					t.Errorf("%s, call %d: %+v, %v", name, n, s, err)
				}
			}
		}
	})
}

func TestBadInput(t *testing.T) {
	c := client(t, "127.0.0.1:1")
	for _, limit := range []ratelimit.Limit{
		{},
		{Key: "rates", Window: time.Second},
		{Key: "rates", Count: -1, Window: time.Second},
		{Key: "rates", Count: 5},
		{Key: "rates", Count: 5, Window: time.Microsecond},
		{Key: "rates", Count: 5, Window: 1500 * time.Microsecond},
		{Key: "rates", Count: 1_000_001, Window: time.Second},
		{Key: strings.Repeat("x", 201), Count: 5, Window: time.Second},
		{Key: "rates", Count: 5, Window: 24*time.Hour + time.Millisecond},
	} {
		for _, a := range ratelimit.All() {
			l, err := a.Open(c, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Allow(t.Context(), limit); !errors.Is(err, ratelimit.ErrInput) || !strings.Contains(err.Error(), "must") {
				t.Errorf("%s takes the limit %+v: %v", a.Name, limit, err)
			}
		}
	}
	for _, limit := range []ratelimit.Limit{ // the smallest and the largest
		{Key: "x", Count: 1, Window: time.Millisecond}, {Key: strings.Repeat("x", 200), Count: 1_000_000, Window: 24 * time.Hour},
	} {
		if err := limit.Validate(); err != nil {
			t.Error(err)
		}
	}
	if a, found := ratelimit.Find("r99"); found {
		t.Errorf("r99 is %+v", a)
	}
	split, _ := ratelimit.Find("r7")
	if _, err := split.Open(c, 0); !errors.Is(err, ratelimit.ErrInput) {
		t.Errorf("no nodes: %v", err)
	}
	l := open(t, c, "r7", 12)[0]
	if _, err := l.Allow(t.Context(), ratelimit.Limit{Key: "rates", Count: 5, Window: time.Second}); !errors.Is(err, ratelimit.ErrInput) {
		t.Errorf("5 calls for 12 nodes: %v", err)
	}
	if _, err := ratelimit.Failing(l, ratelimit.FailOpen, 0); !errors.Is(err, ratelimit.ErrInput) {
		t.Errorf("no time to answer: %v", err)
	}
}

// Where Redis goes away before a command, no call is admitted, and the refusal is not that of the limit.
func TestRedisThatGoesAwayBetweenTwoCommands(t *testing.T) {
	for name, want := range map[string]int{"r2": 2, "r3": 1, "r4": 1, "r5": 2, "r6": 1, "r8": 1, "r9": 2} {
		c := client(t, testenv.Redis(t, false).Addr)
		gone := &goesAway{left: -1}
		c.AddHook(gone)
		l := open(t, c, name, 1)[0]
		ask(t, l, rates, 1) // its script is loaded
		for commands := 0; ; commands++ {
			gone.left = commands
			_, err := l.Allow(t.Context(), ratelimit.Limit{Key: "other", Count: 100, Window: time.Hour})
			answered := gone.left >= 0
			gone.left = -1
			if (err == nil) != answered || err != nil && !errors.Is(err, ratelimit.ErrUnavailable) {
				t.Errorf("%s, after %d commands: %v", name, commands, err)
			}
			if answered {
				if commands != want {
					t.Errorf("%s sends %d commands, want %d", name, commands, want)
				}
				break
			}
		}
	}
}

// goesAway lets so many commands pass, and fails the next one; negative: none.
type goesAway struct{ left int }

func (*goesAway) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *goesAway) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if g.left--; g.left == -1 {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

func (g *goesAway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// An answer is waited for no longer than is configured, whatever the client's own timeout is.
func TestFailingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := ratelimit.Failing(silent{}, ratelimit.FailOpen, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if s, err := f.Allow(t.Context(), rates); err != nil || !s.Unchecked || time.Since(began) != time.Second {
			t.Errorf("after %s: %+v, %v", time.Since(began), s, err)
		}
	})
}

// silent is a counter that never answers.
type silent struct{}

func (silent) Allow(ctx context.Context, _ ratelimit.Limit) (ratelimit.State, error) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Hour):
	}
	return ratelimit.State{}, ratelimit.ErrUnavailable
}

// Without Redis, fail closed is an error and fail open admits. A server that hangs counts as one that is down.
func TestFailing(t *testing.T) {
	t.Parallel()
	hangs := testenv.Redis(t, false)
	c := client(t, hangs.Addr)
	if err := c.Ping(t.Context()).Err(); err != nil { // opens a connection
		t.Fatal(err)
	}
	testenv.Pause(t, hangs)
	defer hangs.Resume()
	for what, c := range map[string]*redis.Client{"down": client(t, "127.0.0.1:1"), "hangs": c} {
		for _, name := range []string{"r2", "r3", "r4", "r5", "r6"} {
			l := open(t, c, name, 1)[0]
			for mode, opens := range map[ratelimit.Mode]bool{ratelimit.FailClosed: false, ratelimit.FailOpen: true} {
				f, err := ratelimit.Failing(l, mode, 20*time.Millisecond)
				if err != nil {
					t.Fatal(err)
				}
				s, err := f.Allow(t.Context(), rates)
				if opens && (err != nil || !s.Unchecked) || !opens && !errors.Is(err, ratelimit.ErrUnavailable) {
					t.Errorf("%s, %s, fail open %v: %+v, %v", what, name, opens, s, err)
				}
				gone, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := f.Allow(gone, rates); err == nil {
					t.Errorf("%s, %s, fail open %v: a caller that has left is admitted", what, name, opens)
				}
			}
		}
	}
}

// A call that a limiter refuses stays refused with fail open.
func TestFailOpenKeepsRefusals(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		l, err := ratelimit.Failing(open(t, client(t, testenv.Redis(t, real).Addr), "r3", 1)[0], ratelimit.FailOpen, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if admitted, _ := ask(t, l, rates, 60); admitted != rates.Count {
			t.Errorf("%d calls were admitted, want %d", admitted, rates.Count)
		}
	})
}

func TestDo(t *testing.T) {
	l := open(t, client(t, "127.0.0.1:1"), "r1", 1)[0]
	calls, broke := 0, errors.New("the supplier broke")
	limit := ratelimit.Limit{Key: "rates", Count: 2, Window: time.Hour}
	for n := range 4 {
		err := ratelimit.Do(t.Context(), l, limit, func(context.Context) error { calls++; return broke })
		if want := map[bool]error{true: broke, false: ratelimit.ErrRefused}[n < 2]; !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", n, err, want)
		}
	}
	if calls != 2 {
		t.Errorf("the function ran %d times", calls)
	}
}

func TestWorst(t *testing.T) {
	at := func(ms ...int) (all []time.Time) {
		for _, n := range ms {
			all = append(all, time.UnixMilli(int64(n)))
		}
		return all
	}
	for _, c := range []struct {
		calls      []time.Time
		most, from int
	}{
		{nil, 0, 0},
		{at(7), 1, 0},
		{at(0, 100), 1, 0},
		{at(0, 99), 2, 0},
		{at(0, 50, 100, 149), 3, 1},
		{at(149, 0, 100, 50), 3, 1},
		{at(0, 90, 95, 101, 300), 3, 0},
		{at(0, 90, 95, 101, 102, 300), 4, 1},
	} {
		if most, from := ratelimit.Worst(c.calls, 100*time.Millisecond); most != c.most || from != c.from {
			t.Errorf("%v: %d from %d, want %d from %d", c.calls, most, from, c.most, c.from)
		}
	}
}

func TestSupplier(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		s := ratelimit.NewSupplier(client(t, testenv.Redis(t, real).Addr))
		for range 3 {
			if err := s.Call(t.Context(), "r3"); err != nil {
				t.Fatal(err)
			}
		}
		calls, err := s.Calls(t.Context(), "r3")
		if err != nil || len(calls) != 3 || !slices.IsSortedFunc(calls, time.Time.Compare) || time.Since(calls[0]).Abs() > time.Minute {
			t.Errorf("the log has %v, %v", calls, err)
		}
		if others, err := s.Calls(t.Context(), "r4"); err != nil || len(others) != 0 {
			t.Errorf("the log of another name has %v, %v", others, err)
		}
		if err := s.Forget(t.Context(), "r3"); err != nil {
			t.Fatal(err)
		}
		if calls, err := s.Calls(t.Context(), "r3"); err != nil || len(calls) != 0 {
			t.Errorf("forgotten, the log has %v, %v", calls, err)
		}
	})
	if _, err := ratelimit.NewSupplier(client(t, "127.0.0.1:1")).Calls(t.Context(), "r3"); !errors.Is(err, ratelimit.ErrUnavailable) {
		t.Errorf("without Redis: %v", err)
	}
}
