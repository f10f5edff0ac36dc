package lab

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"locklab/lab/history"
)

// People read ms and decimals, whatever unit was recorded.
func TestMeasuredInPlainUnits(t *testing.T) {
	next, wait, commands := Microseconds.Of("until the next holder"), Microseconds.Of("of the longest wait"), Tenths.Of("commands per wait")
	for _, c := range []struct {
		of          Quantity
		value       int64
		label, text string
	}{
		{next, 319_808, "ms until the next holder", "320"},
		{next, 6_836, "ms until the next holder", "6.84"},
		{wait, 27_804, "ms of the longest wait", "27.8"},
		{wait, 1_234_567_890, "ms of the longest wait", "1\u202f234\u202f568"},
		{next, -120, "ms until the next holder", "-0.12"},
		{next, 9_994, "ms until the next holder", "9.99"},
		{next, 10_040, "ms until the next holder", "10.0"},
		{next, 99_940, "ms until the next holder", "99.9"},
		{next, 100_400, "ms until the next holder", "100"},
		{commands, 45, "commands per wait", "4.5"},
		{commands, 172_900, "commands per wait", "17\u202f290.0"},
		{Thousandths.Of("Jain's index"), 998, "Jain's index", "0.998"},
		{Milliseconds.Of("without a grant"), 1_998, "ms without a grant", "1\u202f998"},
		{Count.Of("updates lost"), 630, "updates lost", "630"},
	} {
		if c.of.Label() != c.label || c.of.Text(c.value) != c.text {
			t.Errorf("%d %+v is %s %q, want %s %q", c.value, c.of, c.of.Text(c.value), c.of.Label(), c.text, c.label)
		}
	}
	if got := Thousandths.Of("").Text(20_001); got != "20.001" {
		t.Errorf("20001 thousandths are %q", got)
	}
	if ms, is := next.Milliseconds(1500); ms != 1.5 || !is {
		t.Errorf("%v ms, %v", ms, is)
	}
	if _, is := commands.Milliseconds(1500); is {
		t.Error("commands are a time")
	}
}

// The table of what was measured has a row for each timeline, in the order of the variants. A cell has the median and the spread.
func TestMeasurements(t *testing.T) {
	work, waits := Microseconds.Of("of work"), Tenths.Of("waits")
	r := Record{Variants: []VariantRecord{
		{Name: "v", Trials: []TrialRecord{{Took: time.Second}, {Took: 2 * time.Second}}},
		{Name: "w", Trials: []TrialRecord{{Took: 5 * time.Second}}},
	}}
	measured := func(variant, timeline string, of Quantity, values ...int64) {
		for _, value := range values {
			e := of.Event(timeline, value)
			e.Variant = variant
			r.Events = append(r.Events, e)
		}
	}
	measured("w", "B", work, 3000, 1000, 2000)
	measured("w", "B", waits, 45, 45, 45)
	measured("v", "A", work, 90_000, 50_000, 70_000)
	measured("v", "A", waits, 10, 40, 20)
	measured("v", "B", work, 7000)
	r.Events = append(r.Events, history.Event{Kind: history.Note, Variant: "v", Timeline: "B", Value: 9})
	want := Measurements{Units: []string{"waits", "ms of work"}, Rows: []MeasuredRow{
		{"v", "A", []string{"2.0 (1.0 to 4.0)", "70.0 (50.0 to 90.0)"}},
		{"v", "B", []string{"–", "7.00"}},
		{"w", "B", []string{"4.5", "2.00 (1.00 to 3.00)"}},
	}}
	if got := r.Measurements(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if v, none := r.TookBy("v"), r.TookBy("nobody"); v != 3*time.Second || none != 0 {
		t.Errorf("the trials of v took %s, those of nobody %s", v, none)
	}
}

// A violation is drawn, and otherwise the first whole trial in which the most happened.
func TestTelling(t *testing.T) {
	event := func(seq, trial int, kind history.Kind) history.Event {
		return history.Event{Seq: seq, Variant: "v", Trial: trial, Kind: kind}
	}
	r := Record{
		Variants: []VariantRecord{
			{Name: "v", Trials: []TrialRecord{{Number: 1}, {Number: 2}, {Number: 3, Err: "it failed"}}},
			{Name: "other", Trials: []TrialRecord{{Number: 8}, {Number: 3, Err: "it failed, too"}, {Number: 9}}},
		},
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
		{&history.Violation{}, 2, "in which the most happened"}, // nothing says when it happened
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
	// A trial that was cut short has no record. The record of another trial, which failed, says nothing of it.
	r.Variants[0].Trials = []TrialRecord{{Number: 3, Err: "it failed"}}
	if trial, why := r.Telling(VariantJudgement{Name: "v"}); trial != 1 || why != "the first, which was cut short" {
		t.Errorf("cut short: trial %d, %q", trial, why)
	}
	r.Variants[0].Trials[0].Number = 1
	if trial, why := r.Telling(VariantJudgement{Name: "v"}); trial != 1 || why != "the first, which failed" {
		t.Errorf("failed: trial %d, %q", trial, why)
	}
}

// A drawing of text begins with the first event of the trial, as long as a person can follow it. Of a long trial it has the evidence, and
// says how much is left out.
func TestAStoryBeginsWithTheTrial(t *testing.T) {
	event := func(seq int, kind history.Kind) history.Event {
		return history.Event{Seq: seq, Variant: "v", Trial: 1, Timeline: "A", Kind: kind}
	}
	r := Record{Events: []history.Event{
		event(1, history.Request), event(2, history.Grant), event(3, history.Command), event(4, history.Read), event(5, history.Measure),
		event(6, history.Write), event(7, history.Release), event(8, history.Final),
	}}
	j := VariantJudgement{Name: "v", Violation: &history.Violation{Events: []int{4, 6}}, Evidence: r.Events[3:4]}
	var seqs []int
	events, left := r.Story(j)
	for _, e := range events {
		seqs = append(seqs, e.Seq)
	}
	if !slices.Equal(seqs, []int{1, 2, 4, 6, 8}) || left != 0 {
		t.Errorf("the story has the events %v, and %d are left out", seqs, left)
	}
	for seq := range readable {
		r.Events = append(r.Events, event(9+seq, history.Grant))
	}
	j.Violation.Events[1] = 8 + readable
	if events, left := r.Story(j); len(events) != 1 || left != 6+readable-1 {
		t.Errorf("of a long trial the story has %d events, and %d are left out", len(events), left)
	}
}

// A curve has a point for each timeline of its variant with both numbers, as they were recorded.
func TestCurvePoints(t *testing.T) {
	event := func(variant, timeline string, of Quantity, value int64) history.Event {
		e := of.Event(timeline, value)
		e.Variant = variant
		return e
	}
	x, y := Tenths.Of("commands"), Microseconds.Of("until the next holder")
	e := Experiment{ID: "L09-waiting", Curve: Curve{Variant: "v", X: x, Y: y, Line: "sleep "}}
	r := Record{Events: []history.Event{
		event("other", "sleep 2 ms", x, 9), event("other", "sleep 2 ms", y, 9),
		event("v", "sleep 2 ms", x, 70), event("v", "sleep 2 ms", y, 1500), event("v", "message", x, 47), event("v", "message", y, 550),
		event("v", "message", x, 48), event("v", "message", x, 99), event("v", "message", x, 50), event("v", "half", x, 1),
	}}
	points := e.Curve.Points(r)
	if len(points) != 2 || points[0].Timeline != "sleep 2 ms" || points[0].Y.Median() != 1500 ||
		points[1].X.Median() != 49 || points[1].Y.Median() != 550 {
		t.Errorf("%+v", points)
	}
	if points := (Curve{}).Points(r); points != nil {
		t.Errorf("without a curve: %+v", points)
	}
}
