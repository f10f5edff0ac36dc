package lockstrategy_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/history"
	"locklab/lockstrategy/locktest/model"
)

// The Redis lock keeps its promises in random runs with faults. MODEL_SEED and MODEL_RUNS say which: `make model`.
func TestModel(t *testing.T) {
	first, runs := setting(t, "MODEL_SEED", 1), setting(t, "MODEL_RUNS", 250)
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
	t.Logf("seeds %d to %d: %d runs in %s, %.0f a second: %v", first, first+runs-1, runs, took.Round(time.Millisecond), float64(runs)/took.Seconds(), seen.counts)
	if runs >= 250 && !t.Failed() {
		seen.wantEverything(t, int(runs))
	}
}

func openRedis(b lockstrategy.Backends) (*lockstrategy.Opened, error) {
	return lockstrategy.Open(lockstrategy.NameRedis, b)
}

// The mutex in the process has only the gate's promises to keep.
func TestModelOfTheProcess(t *testing.T) {
	for seed := range uint64(200) {
		p := model.NewProgram(seed, false)
		events := model.Run(t, p, func(b lockstrategy.Backends) (*lockstrategy.Opened, error) {
			return lockstrategy.Open(lockstrategy.NameProcess, b)
		}, false)
		if r := history.Judge(events, history.Terms{}); r.Verdict != history.Supported {
			t.Fatalf("seed %d\n%s", seed, explain(r, events))
		}
	}
}

// modelled runs seed and fails unless all that happened may have happened.
func modelled(t *testing.T, seed uint64, open model.Open) []history.Event {
	t.Helper()
	events, r := judged(t, seed, open)
	if r.Verdict == history.Supported || r.Empty() { // there are few of those: see wantEverything
		return events
	}
	again := 0
	for range 10 {
		if _, other := judged(t, seed, open); other.Verdict != history.Supported {
			again++
		}
	}
	t.Errorf("seed %d, and in %d of 10 more runs of it. Again: make model SEED=%d RUNS=1\n%s", seed, again, seed, explain(r, events))
	return events
}

func judged(t *testing.T, seed uint64, open model.Open) ([]history.Event, history.Report) {
	t.Helper()
	hung := time.AfterFunc(time.Minute, func() { panic("seed " + strconv.FormatUint(seed, 10) + " hangs") }) // of the real time
	defer hung.Stop()
	p := model.NewProgram(seed, true)
	events := model.Run(t, p, open, true)
	return events, history.Judge(events, history.Terms{Lease: p.Lease})
}

func explain(r history.Report, events []history.Event) string {
	lines := []string{strings.TrimSpace(r.Verdict.String() + " " + r.Why)}
	for _, v := range r.Violations {
		lines = append(lines, string(v.Check)+" of "+v.Key+": "+v.What, v.Slice(events))
	}
	return strings.Join(lines, "\n")
}

// What breaks a lock is noticed, by the check that is meant for it, and soon.
func TestModelCatchesBrokenLocks(t *testing.T) {
	want := map[string]history.Check{
		"release without compare":                  history.Exclusion,
		"acquire without NX":                       history.Exclusion,
		"renewal that creates the key":             history.Notice,
		"token that does not grow":                 history.Fence,
		"cohort that serves the last caller first": history.Order,
	}
	for _, broken := range lockstrategy.BrokenLocks() {
		t.Run(broken.Name, func(t *testing.T) {
			t.Parallel()
			const most = 200
			for seed := uint64(1); seed <= most; seed++ {
				_, r := judged(t, seed, broken.Open)
				if r.Verdict == history.Inconclusive {
					t.Fatalf("seed %d: %s", seed, r.Why)
				}
				if check := want[broken.Name]; r.Caught(check) {
					modelled(t, seed, openRedis) // the same seed does not accuse the right lock
					v := r.Violations[slices.IndexFunc(r.Violations, func(v history.Violation) bool { return v.Check == check })]
					t.Logf("caught by %s in seed %d: %s", v.Check, seed, v.What)
					return
				}
			}
			t.Fatalf("not caught by %q in %d seeds", want[broken.Name], most)
		})
	}
}

// A seed is worth something only if it gives the same run again.
func TestModelRepeats(t *testing.T) {
	const seeds = 40
	same := 0
	for seed := range uint64(seeds) {
		one, _ := judged(t, seed, openRedis)
		two, _ := judged(t, seed, openRedis)
		if slices.Equal(sorted(one), sorted(two)) {
			same++
		}
	}
	t.Logf("%d of %d seeds gave the same history twice", same, seeds)
	if same < seeds*3/4 {
		t.Fatal("the seed decides too little")
	}
}

// sorted orders what happened at the same instant, as the scheduler does not.
func sorted(events []history.Event) []string {
	var lines []string
	for _, e := range events {
		e.Seq = 0
		lines = append(lines, fmt.Sprintf("%020d %s", e.At, e))
	}
	slices.Sort(lines)
	return lines
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
	fences := make(map[uint64]bool)
	defer func() {
		if len(fences) == 0 {
			c.counts["empty"]++
		}
	}()
	for _, e := range events {
		what := string(e.Kind)
		switch e.Kind {
		case history.Lost, history.Refused:
			what += " " + e.Note
		case history.Trouble, history.FaultFrom:
			what, _, _ = strings.Cut(e.Note, ":")
		case history.Granted:
			if fences[e.Fence] = true; fences[e.Fence-1] {
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
		"granted", "handed off", "entered", "refused taken", "refused deadline", "refused canceled", "refused unavailable",
		"lost expired", "lost gone", "lost forced", "lost unreachable", "key deleted", "key forgotten with all that belongs to it",
		"forced unlock", "the server's expiries jump ahead", "cut", "an answer lost", "slow answers", history.Late,
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
