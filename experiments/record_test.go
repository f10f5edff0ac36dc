package experiments

import (
	"strings"
	"testing"

	"locklab/history"
)

// People read ms and decimals, whatever unit was recorded.
func TestMeasuredInPlainUnits(t *testing.T) {
	for _, c := range []struct {
		unit        string
		value       int64
		label, text string
	}{
		{"µs until the next holder", 319_808, "ms until the next holder", "320"},
		{"µs until the next holder", 6_836, "ms until the next holder", "6.84"},
		{"µs, the longest wait", 27_804, "ms, the longest wait", "27.8"},
		{"µs, the longest wait", 1_234_567_890, "ms, the longest wait", "1\u202f234\u202f568"},
		{"µs until the next holder", -120, "ms until the next holder", "-0.12"},
		{"commands per wait, in tenths", 45, "commands per wait", "4.5"},
		{"commands per wait, in tenths", 172_900, "commands per wait", "17\u202f290.0"},
		{"Jain's index, in thousandths", 998, "Jain's index", "0.998"},
		{"updates lost", 630, "updates lost", "630"},
	} {
		m := Measured{Unit: c.unit}
		if m.Label() != c.label || m.Text(c.value) != c.text {
			t.Errorf("%d %s is %s %q, want %s %q", c.value, c.unit, m.Text(c.value), m.Label(), c.text, c.label)
		}
	}
}

// A violation is drawn, and otherwise the first whole trial in which the most happened.
func TestTelling(t *testing.T) {
	event := func(seq, trial int, kind history.Kind) history.Event {
		return history.Event{Seq: seq, Variant: "v", Trial: trial, Kind: kind}
	}
	r := Record{
		Variants: []VariantRecord{{Name: "v", Trials: []TrialRecord{{Number: 1}, {Number: 2}, {Number: 3, Err: "it failed"}}}},
		Events: []history.Event{
			{Seq: 1, Variant: "other", Trial: 9, Kind: history.Stale},
			event(2, 1, history.Grant), event(3, 2, history.Stale), event(4, 3, history.Stale), event(5, 3, history.Fault),
		},
	}
	for _, c := range []struct {
		found *history.Violation
		trial int
		why   string
	}{
		{&history.Violation{Events: []int{4}}, 3, "the first with a violation"},
		{nil, 2, "in which the most happened"},
	} {
		if trial, why := r.Telling(VariantJudgement{Name: "v", Violation: c.found}); trial != c.trial || why != c.why {
			t.Errorf("trial %d, %q; want %d, %q", trial, why, c.trial, c.why)
		}
	}
	r.Events[2].Kind = history.Grant
	if trial, why := r.Telling(VariantJudgement{Name: "v"}); trial != 1 || why != "the first" {
		t.Errorf("nothing stands out: trial %d, %q", trial, why)
	}
	r.Variants = nil
	if trial, why := r.Telling(VariantJudgement{Name: "v"}); trial != 1 || why != "the first, which was cut short" {
		t.Errorf("cut short: trial %d, %q", trial, why)
	}
}

// A curve has a point for each timeline of its variant with both numbers, as they were recorded. A terminal shows them as a table, of a
// single run.
func TestCurvePoints(t *testing.T) {
	event := func(variant, timeline, unit string, value int64) history.Event {
		return history.Event{Variant: variant, Timeline: timeline, Kind: history.Measure, Value: value, Text: unit}
	}
	const x, y = "commands, in tenths", "µs until the next holder"
	e := Experiment{ID: "L09-waiting", Curve: Curve{Variant: "v", X: x, Y: y, Line: "sleep "}}
	r := Record{Events: []history.Event{
		event("other", "sleep 2 ms", x, 9), event("other", "sleep 2 ms", y, 9),
		event("v", "sleep 2 ms", x, 70), event("v", "sleep 2 ms", y, 1500), event("v", "message", x, 47), event("v", "message", y, 550),
		event("v", "message", x, 48), event("v", "message", x, 99), event("v", "half", x, 1),
	}}
	points := e.Curve.Points(r)
	if len(points) != 2 || points[0].Timeline != "sleep 2 ms" || points[0].Y.Median() != 1500 ||
		points[1].X.Median() != 48 || points[1].Y.Median() != 550 {
		t.Errorf("%+v", points)
	}
	run := Result{Saved: Saved{Experiment: e, Record: r}}
	one, two := &Results{Runs: []Result{run}}, &Results{Runs: []Result{run, run}}
	if text := one.Text(false); !strings.Contains(text, "commands  ms until the next holder") || !strings.Contains(text, "4.8") {
		t.Errorf("no table in\n%s", text)
	}
	if text := two.Text(false); strings.Contains(text, "until the next holder") {
		t.Errorf("of two runs there is a table:\n%s", text)
	}
	if points := (Curve{}).Points(r); points != nil {
		t.Errorf("without a curve: %+v", points)
	}
}
