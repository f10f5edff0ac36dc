package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lab/history"
)

// withVariant makes an experiment of a control that notes something, and a variant.
func withVariant(run Scenario) Experiment {
	e := known
	e.Variants = []Variant{
		{Name: "control", Run: func(_ context.Context, t *Trial) { t.Note("A", "it was here") }},
		{Name: "subject", Expect: Sometimes, Run: run},
	}
	return e
}

func TestRunRecords(t *testing.T) {
	e := withVariant(func(_ context.Context, t *Trial) { t.Mark("A", violated) })
	run := Run(t.Context(), e, Options{Seed: 5, Build: "b", Command: "c"})
	r := run.Record
	if j := run.Judgement; j.Verdict != AsExpected || j.Variants[1].Violations != 3 {
		t.Errorf("%+v", j)
	}
	if r.Count != 6 || r.Seed != 5 || r.Build != "b" || r.Command != "c" || r.Format != Format || run.Dir != "" {
		t.Errorf("%+v, saved in %q", r, run.Dir)
	}
	e.Trials = 2
	if r := Run(t.Context(), e, Options{}).Record; r.Count != 4 {
		t.Errorf("an experiment of 2 trials recorded %d events", r.Count)
	}
	if r := Run(t.Context(), e, Options{Trials: 1}).Record; r.Count != 2 {
		t.Errorf("a run of 1 trial recorded %d events", r.Count)
	}
}

// The record says whether Redis ran in containers, and from which image. Without Docker it names the program.
func TestTheRecordNamesItsRedis(t *testing.T) {
	for docker, redis := range map[string]string{"": "miniredis", "checkout": "containers of redis:7"} {
		inContainers := docker == ""
		e := withVariant(func(_ context.Context, t *Trial) { inContainers = t.InContainers() })
		r := Run(t.Context(), e, Options{Trials: 1, Docker: docker, Image: "redis:7"}).Record
		if in := docker != ""; r.Redis != redis || r.Containers != in || inContainers != in {
			t.Errorf("%q: %s, in containers: the record %t, the trial %t", docker, r.Redis, r.Containers, inContainers)
		}
	}
}

// A trial that uses up its time says so, and is not repeated, whether its scenario fails or returns.
func TestATrialHasItsTime(t *testing.T) {
	for name, end := range map[string]func(t *Trial, err error){"it returns": func(*Trial, error) {}, "it fails": (*Trial).Must} {
		synctest.Test(t, func(t *testing.T) {
			e := withVariant(func(ctx context.Context, t *Trial) { <-ctx.Done(); end(t, ctx.Err()) })
			trials := Run(t.Context(), e, Options{Trials: 1}).Record.Variants[1].Trials
			if len(trials) != 1 || !strings.Contains(trials[0].Err, "it was not over within 3m0s") {
				t.Errorf("%s: %+v", name, trials)
			}
		})
	}
}

// A slow variant is left out of a quick run, and of no other.
func TestAQuickRunLeavesSlowVariantsOut(t *testing.T) {
	e := withVariant(func(_ context.Context, t *Trial) { t.Mark("A", violated) })
	e.Variants = append(e.Variants, Variant{Name: "slow", Slow: true, Run: func(_ context.Context, t *Trial) { t.Note("A", "slowly") }})
	for quick, count := range map[bool]int{false: 3, true: 2} {
		r := Run(t.Context(), e, Options{Trials: 1, Quick: quick}).Record
		if left := r.Variants[2].LeftOut; r.Count != count || (left != "") != quick || e.Judge(r).Verdict != AsExpected {
			t.Errorf("quick %t: %d events, left out %q, %+v", quick, r.Count, left, e.Judge(r))
		}
	}
}

// The same seed makes the same decisions; each trial has its own.
func TestRunIsRepeatedByItsSeed(t *testing.T) {
	e := withVariant(func(_ context.Context, t *Trial) { t.Note("A", fmt.Sprint(t.Rand.Uint64())) })
	decisions := func(seed uint64) (all []string) {
		for _, event := range Run(t.Context(), e, Options{Seed: seed}).Record.Events[3:] {
			all = append(all, event.Text)
		}
		return all
	}
	one, again, other := decisions(1), decisions(1), decisions(2)
	if fmt.Sprint(one) != fmt.Sprint(again) || fmt.Sprint(one) == fmt.Sprint(other) || one[0] == one[1] {
		t.Errorf("%q, %q, %q", one, again, other)
	}
}

// Whatever a variant does, everything is cleaned up, the last first, and the record says what happened.
func TestRunCleansUp(t *testing.T) {
	for name, c := range map[string]struct {
		end  func() error
		says string
	}{
		"nothing happens": {func() error { return nil }, ""},
		"it fails":        {func() error { return errors.New("no server") }, "no server"},
		"it panics":       {func() error { panic("a mistake") }, "it panicked: a mistake"},
	} {
		t.Run(name, func(t *testing.T) {
			var cleaned, dir string
			e := withVariant(func(ctx context.Context, t *Trial) {
				dir = t.Stack.Dir()
				t.Mark("A", violated)
				cleaning := make(chan struct{})
				t.Cleanup(func() error { cleaned += "first"; close(cleaning); return nil })
				t.Cleanup(func() error { cleaned += "last "; return nil })
				t.Go(func() {
					<-ctx.Done()
					<-cleaning
					t.Cleanup(func() error { cleaned += " late"; return nil })
				})
				t.Must(c.end())
			})
			r := Run(t.Context(), e, Options{Trials: 1}).Record
			if cleaned != "last first late" {
				t.Errorf("cleaned: %q", cleaned)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", dir, err)
			}
			if trial := r.Variants[1].Trials[0]; !strings.Contains(trial.Err, c.says) || (trial.Err == "") != (c.says == "") {
				t.Errorf("the record says %q, want %q", trial.Err, c.says)
			}
			if j := e.Judge(r); (j.Verdict == AsExpected) != (c.says == "") {
				t.Errorf("%s: %s", j.Verdict, j.Why)
			}
		})
	}
}

// A trial records faults with a mark and a proof, their ends, and measurements, on the clock of its history.
func TestWhatATrialRecords(t *testing.T) {
	var began time.Time
	var now time.Duration
	e := withVariant(func(_ context.Context, t *Trial) {
		began, now = t.Began(), t.Now()
		t.Break("A", violated, "it is gone")
		t.Heal("A", "it is back")
		t.Measure("B", 3, Milliseconds.Of("of work"))
	})
	r := Run(t.Context(), e, Options{Trials: 1}).Record
	want := []history.Event{
		{Timeline: "A", Kind: history.Fault, Name: violated.Name, Text: violated.Name, Proof: "it is gone"},
		{Timeline: "A", Kind: history.Heal, Text: "it is back"},
		{Timeline: "B", Kind: history.Measure, Name: "of work", Unit: string(Milliseconds), Value: 3},
	}
	got := history.Of(r.Events, "subject", 1)
	for i := range got {
		if got[i].At < now {
			t.Errorf("the clock says %s, and later %s", now, got[i].At)
		}
		got[i].Seq, got[i].At, got[i].Variant, got[i].Trial = 0, 0, "", 0
	}
	if !slices.Equal(got, want) || !began.Add(now).After(began) || began.After(time.Now()) {
		t.Errorf("%+v; it began at %s", got, began)
	}
}

// A trial whose files have no place proves nothing: it is not done.
func TestATrialWithoutATemporaryDirectory(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	e := withVariant(func(context.Context, *Trial) { t.Error("it is done") })
	r := Run(t.Context(), e, Options{Trials: 1}).Record
	if failed := r.Variants[1].Trials[0].Err; !strings.Contains(failed, "missing") {
		t.Errorf("its error is %q", failed)
	}
}

// Functions beside a variant, and its cleanup, may panic: the trial immediately has the error, and the run its record.
func TestPanicsAreOfTheTrial(t *testing.T) {
	for name, run := range map[string]Scenario{
		"beside it": func(ctx context.Context, t *Trial) {
			t.Go(func() { panic("a mistake") })
			<-ctx.Done()
		},
		"beside it, and it is waited for": func(_ context.Context, t *Trial) {
			t.Go(func() { panic("a mistake") })()
			t.Mark("A", violated) // it is not reached
		},
		"at its end": func(ctx context.Context, t *Trial) {
			t.Go(func() { <-ctx.Done(); panic("a mistake") })
		},
		"in its cleanup": func(_ context.Context, t *Trial) { t.Cleanup(func() error { panic("a mistake") }) },
	} {
		t.Run(name, func(t *testing.T) {
			e := withVariant(func(ctx context.Context, t *Trial) { t.Mark("A", violated); run(ctx, t) })
			r := Run(t.Context(), e, Options{Trials: 1}).Record
			if trial := r.Variants[1].Trials[0]; !strings.HasPrefix(trial.Err, "it panicked: a mistake") {
				t.Errorf("the record says %q", trial.Err)
			}
			if j := e.Judge(r); j.Verdict != Inconclusive || r.Interrupted || r.Count != 2 {
				t.Errorf("%s, %+v", j.Verdict, r)
			}
		})
	}
}

// A run that is interrupted keeps what was recorded; the trial that was cut short is none.
func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cleaned := false
	e := withVariant(func(ctx context.Context, t *Trial) {
		t.Mark("A", violated)
		if t.Number == 2 {
			t.Cleanup(func() error { cleaned = true; return nil })
			cancel()
			<-ctx.Done()
			t.Must(ctx.Err())
		}
	})
	r := Run(ctx, e, Options{}).Record
	if !r.Interrupted || !cleaned || len(r.Variants[1].Trials) != 1 || r.Count != 5 || len(r.Events) != 5 {
		t.Errorf("cleaned %v, %+v", cleaned, r)
	}
	if j := e.Judge(r); j.Verdict != Inconclusive || !j.Void || j.Why != "it was interrupted" {
		t.Errorf("%+v", j)
	}
}

// The record says what could not be cleaned up: a person must do it.
func TestWhatAnInterruptionLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := withVariant(func(ctx context.Context, t *Trial) {
		t.Cleanup(func() error { return errors.New("a container is left") })
		cancel()
		t.Must(ctx.Err())
	})
	if j := e.Judge(Run(ctx, e, Options{}).Record); j.Verdict != Inconclusive || !strings.Contains(j.Why, "a container is left") {
		t.Errorf("%+v", j)
	}
}

// Each combination of needs is named once.
func TestObstacles(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	o := Options{Real: true}
	if err := o.CannotRun(Experiment{ID: "A"}); err != nil {
		t.Error(err)
	}
	found := strings.Join(o.Obstacles([]Experiment{
		{ID: "A", Schedule: Schedule{Needs: []Need{RedisServer}}}, {ID: "B", Schedule: Schedule{Needs: []Need{RedisServer, "another"}}},
	}), "; ")
	for _, says := range []string{
		"A, B need redis-server, which is not on the PATH: apt-get install", "B needs another, which is not on the PATH: install it",
	} {
		if strings.Count(found, says) != 1 {
			t.Errorf("%q does not say once %q", found, says)
		}
	}
}

func TestVerdictInJSON(t *testing.T) {
	for verdict, want := range map[Verdict]string{
		Inconclusive: `"inconclusive"`, AsExpected: `"as expected"`, Unexpected: `"unexpected"`,
	} {
		if text, err := json.Marshal(verdict); err != nil || string(text) != want {
			t.Errorf("%q, %v", text, err)
		}
	}
}
