package claims

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/testenv"
)

// phase is one in which a run can be stopped, by the first event that begins it. The servers of a trial start behind TrialBegan.
type phase struct {
	name   string
	begins func(lab.Event) bool // nil: when the first server is seen
}

var (
	trialBegan  = phase{"a trial has begun", isA[lab.TrialBegan]}
	serverStart = phase{"servers start", nil}
	faultMade   = phase{"a fault was made", func(e lab.Event) bool {
		s, is := e.(lab.Stepped)
		return is && s.Step.Kind == history.Fault
	}}
	trialJudged = phase{"a trial is judged", isA[lab.TrialJudged]}
)

func isA[E lab.Event](e lab.Event) bool {
	_, is := e.(E)
	return is
}

// Whenever a run is stopped, its servers, processes and files are gone when it returns. Its record is saved, and says that it was
// interrupted. The goroutines are looked for after all tests. L11 pauses a process of the holder; F01 kills a master.
func TestARunIsStoppedInEachPhase(t *testing.T) {
	for _, c := range []struct {
		id       string
		variants []string
		phases   []phase
	}{
		{"L11", []string{"no pause", "paused"}, []phase{faultMade}},
		{"F01", []string{"no kill", "replication cut, lock taken, killed"}, []phase{trialBegan, serverStart, faultMade, trialJudged}},
	} {
		e, err := All().Find(c.id)
		if err != nil {
			t.Fatal(err)
		}
		e.Variants = slices.DeleteFunc(slices.Clone(e.Variants), func(v lab.Variant) bool { return !slices.Contains(c.variants, v.Name) })
		if len(e.Variants) != len(c.variants) {
			t.Fatalf("%s has not the variants %q", c.id, c.variants)
		}
		for _, p := range c.phases {
			t.Run(c.id+", "+p.name, func(t *testing.T) {
				if _, missing := os.Stat("/proc"); missing != nil && p.begins == nil {
					testenv.Skip(t, "this machine has no /proc, in which servers are seen")
				}
				if c.id == "F01" {
					testenv.Slow(t)
					testenv.Needs(t, testenv.RedisServer)
				}
				stopIn(t, e, p.begins)
			})
		}
	}
}

// stopIn runs an experiment, and stops it when a phase begins. nil: when a process of the run is seen.
func stopIn(t *testing.T, e lab.Experiment, begins func(lab.Event) bool) {
	files, store := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", files)
	ctx, cancel := context.WithCancel(testenv.Context(t))
	defer cancel()
	var looking sync.WaitGroup
	if begins == nil {
		begins = func(lab.Event) bool { return false }
		looking.Go(func() {
			for len(testenv.Processes(files)) == 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		})
	}
	var told []lab.Event
	o := lab.Options{Trials: 2, Store: store, Real: testenv.RedisServer.Met()}
	o.Tell = func(e lab.Event) {
		if told = append(told, e); begins(e) {
			cancel()
		}
	}
	r := lab.Run(ctx, e, o)
	cancel()
	looking.Wait()
	if left := testenv.Processes(files); len(left) > 0 {
		t.Errorf("these processes are left: %q", left)
	}
	if left, err := os.ReadDir(files); err != nil || len(left) > 0 {
		t.Errorf("these files are left: %v, %v", left, err)
	}
	wantInterrupted(t, r, told)
}

// wantInterrupted looks at the record of a run that was stopped, and at its last events. A trial that was judged counts.
func wantInterrupted(t *testing.T, r lab.Result, told []lab.Event) {
	t.Helper()
	judged, recorded := 0, 0
	for _, e := range told {
		if isA[lab.TrialJudged](e) {
			judged++
		}
	}
	for _, v := range r.Record.Variants {
		recorded += len(v.Trials)
	}
	if recorded != judged {
		t.Errorf("%d trials were judged, and %d are in the record", judged, recorded)
	}
	if last := told[len(told)-1]; !isA[lab.Finished](last) {
		t.Errorf("the last event is %T", last)
	}
	saved, err := lab.Load(r.Dir)
	if err != nil || !saved.Interrupted || saved.Left != "" {
		t.Errorf("saved: interrupted %t, left %q, %v, %s", saved.Interrupted, saved.Left, err, r.NotSaved)
	}
	if j := r.Judgement; j.Verdict != lab.Inconclusive || !strings.Contains(j.Why, "it was interrupted") {
		t.Errorf("%s: %s", j.Verdict, j.Why)
	}
}
