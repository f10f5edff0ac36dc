package redislock_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/lab/history"
	"locklab/lab/testenv/lockmodel"
	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock"
	"locklab/versions"
)

// The Redis lock keeps its promises in random runs with faults. MODEL_SEED and MODEL_RUNS say which: `make model`.
func TestModel(t *testing.T) {
	t.Parallel()
	usual := uint64(250)
	if testing.Short() {
		usual = 20
	}
	first, runs := setting(t, "MODEL_SEED", 1), setting(t, "MODEL_RUNS", usual)
	var seen tally
	began := time.Now()
	t.Run("runs", func(t *testing.T) {
		var next atomic.Uint64
		for range 2 { // a run has one thing to do at a time: two fill the machine better
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1) - 1; n < runs && !t.Failed(); n = next.Add(1) - 1 {
					seen.add(modelled(t, first+n, openRedis))
				}
			})
		}
	})
	took := time.Since(began)
	t.Logf("seeds %d to %d: %d runs in %s, %.0f a second: %v",
		first, first+runs-1, runs, took.Round(time.Millisecond), float64(runs)/took.Seconds(), seen.counts)
	if runs >= 250 && !t.Failed() {
		seen.wantEverything(t, int(runs))
	}
}

func openRedis(b versions.Backends) (*versions.Opened, error) {
	return versions.Open(versions.NameRedis, b)
}

// The mutex in the process has only the queue's promises to keep.
func TestModelOfTheProcess(t *testing.T) {
	t.Parallel()
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		p := newProgram(seed, false)
		events := runModel(t, p, func(b versions.Backends) (*versions.Opened, error) {
			return versions.Open(versions.NameProcess, b)
		}, false)
		if found, err := lockmodel.Check(events, 0); err != nil || len(found) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, err, explain(found, events))
		}
	}
}

// modelled runs seed and fails unless every promise was kept.
func modelled(t *testing.T, seed uint64, open modelOpen) []history.Event {
	t.Helper()
	events, found, err := judged(t, seed, open)
	if len(found) == 0 && (err == nil || errors.Is(err, lockmodel.ErrNothingGranted)) { // there are few of those: see wantEverything
		return events
	}
	again := 0
	for range 10 {
		if _, found, err := judged(t, seed, open); err != nil || len(found) > 0 {
			again++
		}
	}
	t.Errorf("seed %d, and in %d of 10 more runs of it. Reproduce: make model SEED=%d RUNS=1\n%v\n%s",
		seed, again, seed, err, explain(found, events))
	return events
}

func judged(t *testing.T, seed uint64, open modelOpen) ([]history.Event, []history.Violation, error) {
	t.Helper()
	hung := time.AfterFunc(time.Minute, func() { panic("seed " + strconv.FormatUint(seed, 10) + " hangs") }) // of the real time
	defer hung.Stop()
	p := newProgram(seed, true)
	events := runModel(t, p, open, true)
	found, err := lockmodel.Check(events, p.Lease)
	return events, found, err
}

// explain shows each violation with its events; one that porcupine found alone has no events, and the whole history is shown.
func explain(found []history.Violation, events []history.Event) string {
	var lines []string
	for _, v := range found {
		lines = append(lines, fmt.Sprintf("%s of %s: %s", v.Promise, v.Key, v.What))
		shown := history.Explain(events, v)
		if len(v.Events) == 0 {
			shown = events
		}
		for _, e := range shown {
			lines = append(lines, e.String())
		}
	}
	return strings.Join(lines, "\n")
}

// The check of a promise finds a lock that violates it, and soon.
func TestModelCatchesBrokenLocks(t *testing.T) {
	t.Parallel()
	want := map[string]history.Promise{
		"release without compare":      history.MutualExclusion,
		"acquire without NX":           history.MutualExclusion,
		"renewal that creates the key": lockmodel.Notice,
		"token that does not grow":     history.GrowingTokens,
	}
	for _, broken := range redislock.BrokenLocks() {
		t.Run(broken.Name, func(t *testing.T) {
			t.Parallel()
			const most = 200
			open := func(b versions.Backends) (*versions.Opened, error) {
				r, err := broken.Open(b.Redis, lockstrategy.Timing{Expiry: b.Expiry, Request: b.Request})
				if err != nil {
					return nil, err
				}
				return versions.Queued(r, b.HandOff)
			}
			for seed := uint64(1); seed <= most; seed++ {
				_, found, err := judged(t, seed, open)
				if err != nil && !errors.Is(err, lockmodel.ErrNothingGranted) {
					t.Fatalf("seed %d: %v", seed, err)
				}
				promise := want[broken.Name]
				if i := slices.IndexFunc(found, func(v history.Violation) bool { return v.Promise == promise }); i >= 0 {
					modelled(t, seed, openRedis) // the same seed does not accuse the right lock
					t.Logf("caught by %q in seed %d: %s", promise, seed, found[i].What)
					return
				}
			}
			t.Fatalf("not caught by %q in %d seeds", want[broken.Name], most)
		})
	}
}

// tally counts what happened in all runs, so that checks do not pass because nothing did.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(events []history.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int)
	}
	tokens := make(map[uint64]bool)
	defer func() {
		if len(tokens) == 0 {
			c.counts["empty"]++
		}
	}()
	for _, e := range events {
		what := string(e.Kind)
		switch e.Kind {
		case history.Lose, history.Refuse:
			what += ": " + e.Text
		case history.Fault:
			what, _, _ = strings.Cut(e.Text, ":")
		case history.Grant:
			if tokens[e.Token] = true; tokens[e.Token-1] {
				c.counts["handed off"]++
			}
		}
		c.counts[what]++
	}
}

func (c *tally) wantEverything(t *testing.T, runs int) {
	t.Helper()
	if c.counts["empty"] > runs/100 {
		t.Errorf("in %d of %d runs nothing was granted", c.counts["empty"], runs)
	}
	for _, what := range []string{
		"grant", "handed off", "reenter", "refuse: " + history.Taken, "refuse: " + history.Deadline, "refuse: " + history.Canceled,
		"refuse: " + history.Unavailable, "lose: " + history.Expired, "lose: " + history.Gone, "lose: " + history.Forced,
		"lose: " + history.Unreachable, "key deleted", "key forgotten with all that belongs to it",
		"forced unlock", "the server's expiries jump ahead", "cut", "an answer lost", "slow answers", lockmodel.LateRequest,
	} {
		if c.counts[what] == 0 {
			t.Errorf("in no run: %s", what)
		}
	}
}

func setting(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}
