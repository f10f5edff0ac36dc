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

// phases are those in which a run can be stopped, each by the first event that begins it. The servers of a trial start behind TrialBegan.
var phases = map[string]func(lab.Event) bool{
	"it has begun":        isA[lab.Started],
	"a variant has begun": isA[lab.VariantBegan],
	"a trial has begun":   isA[lab.TrialBegan],
	"a client has acted":  stepped(""),
	"a fault was made":    stepped(history.Fault),
	"a trial is judged":   isA[lab.TrialJudged],
	"servers start":       nil, // when the first of them is seen
}

func isA[E lab.Event](e lab.Event) bool {
	_, is := e.(E)
	return is
}

// stepped reports whether something of a kind was recorded; "": anything.
func stepped(kind history.Kind) func(lab.Event) bool {
	return func(e lab.Event) bool {
		s, is := e.(lab.Stepped)
		return is && (kind == "" || s.Step.Kind == kind)
	}
}

// Whenever a run is stopped, its servers, processes and files are gone when it returns. Its record is saved, and says that it was
// interrupted. The goroutines are looked for after all tests. L11 pauses a process of the holder; F01 kills a master.
func TestARunIsStoppedInEachPhase(t *testing.T) {
	for id, variants := range map[string][]string{
		"L11": {"no pause", "paused"},
		"F01": {"no kill", "replication cut, lock taken, killed"},
	} {
		e, err := All().Find(id)
		if err != nil {
			t.Fatal(err)
		}
		e.Variants = slices.DeleteFunc(slices.Clone(e.Variants), func(v lab.Variant) bool { return !slices.Contains(variants, v.Name) })
		if len(e.Variants) != len(variants) {
			t.Fatalf("%s has not the variants %q", id, variants)
		}
		for phase, begins := range phases {
			t.Run(id+", "+phase, func(t *testing.T) {
				if _, missing := os.Stat("/proc"); missing != nil && begins == nil {
					testenv.Skip(t, "this machine has no /proc, in which servers are seen")
				}
				if id == "F01" {
					testenv.Needs(t, testenv.RedisServer)
				}
				stopIn(t, e, begins)
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
