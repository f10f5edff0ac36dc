package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// line is an event in a few words.
func line(e Event) string {
	switch e := e.(type) {
	case Started:
		return fmt.Sprintf("%s: %d trials", e.Experiment, e.Trials)
	case VariantBegan:
		words := fmt.Sprintf("%s: %d trials, %s", e.Variant, e.Trials, e.Expect)
		if e.LeftOut != "" {
			words += "; " + e.LeftOut
		}
		return words
	case TrialBegan:
		return fmt.Sprintf("%d: %s", e.Number, e)
	case Stepped:
		return fmt.Sprintf("%s %d: step %d: %s %s", e.Step.Variant, e.Step.Trial, e.Step.Seq, e.Step.Summary(), e.Step.Proof)
	case TrialJudged:
		words := fmt.Sprintf("%s %d: judged", e.Variant, e.Number)
		if e.Violation != nil {
			words += ": " + e.Violation.What
		}
		if e.Late {
			words += " late:"
		}
		return strings.TrimSpace(words + " " + e.Err)
	case Finished:
		return fmt.Sprintf("%s: %s, saved %t", e.Experiment, e.Result.Judgement.Verdict, e.Result.Dir != "")
	}
	return fmt.Sprintf("%T", e)
}

// A receiver is told each thing when it has happened, and of a fault with its proof. A trial is judged when it has ended.
func TestEventsAreToldAsTheyHappen(t *testing.T) {
	var told []string
	e := withVariant(func(_ context.Context, t *Trial) {
		if t.Number == 1 {
			t.Must(fmt.Errorf("the answer: %w", context.DeadlineExceeded))
		}
		t.Fault("A", "killed", "it is gone")
		told = append(told, "the scenario goes on")
		t.Mark("A", violated)
	})
	e.Variants = append(e.Variants, Variant{Name: "slow", Slow: true})
	Run(t.Context(), e, Options{Trials: 1, Quick: true, Store: t.TempDir(), Tell: func(e Event) { told = append(told, line(e)) }})
	want := []string{
		"X01-test: 2 trials",
		"control: 1 trials, no violation", "1: control, trial 1 of 1", "control 1: step 1: it was here ", "control 1: judged",
		"subject: 1 trials, violation", "1: subject, trial 1 of 1", "subject 1: judged late: the answer: context deadline exceeded",
		fmt.Sprintf("2: subject, trial 1 of 1, repeat 1 of at most %d", MostRepeats),
		"subject 2: step 2: ✗ killed it is gone", "the scenario goes on",
		"subject 2: step 3: " + violated.Name + " ", "subject 2: judged: A: " + violated.Name,
		"slow: 0 trials, no violation; is slow, and a quick run leaves it out",
		"X01-test: as expected, saved true",
	}
	if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// Clients act simultaneously, and a receiver is told their steps one after the other, as they are numbered.
func TestStepsAreToldInTheirOrder(t *testing.T) {
	const clients, each = 8, 200
	e := withVariant(func(_ context.Context, t *Trial) {
		var waits []func()
		for range clients {
			waits = append(waits, t.Go(func() {
				for range each {
					t.Mark("A", violated)
				}
			}))
		}
		for _, wait := range waits {
			wait()
		}
		t.Mark("B", violated) // after all of them
	})
	last := 0
	Run(t.Context(), e, Options{Trials: 1, Tell: func(e Event) {
		if step, is := e.(Stepped); is {
			if last++; step.Step.Seq != last || step.Experiment != "X01-test" {
				t.Errorf("step %d is told as number %d of %s", step.Step.Seq, last, step.Experiment)
			}
		}
	}})
	if last != 1+clients*each+1 {
		t.Errorf("%d steps were told", last)
	}
}

// A trial that is cut short is not judged, and a variant that has not begun is not told. The end is.
func TestEventsOfARunThatIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := withVariant(func(context.Context, *Trial) {})
	e.Variants[0].Run = func(ctx context.Context, t *Trial) { cancel(); t.Must(ctx.Err()) }
	var told []string
	Run(ctx, e, Options{Trials: 1, Tell: func(e Event) { told = append(told, line(e)) }})
	want := []string{
		"X01-test: 2 trials", "control: 1 trials, no violation", "1: control, trial 1 of 1", "X01-test: inconclusive, saved false",
	}
	if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
