package lab

import (
	"strings"
	"testing"

	"locklab/lab/history"
)

// violated is what a test's variants record when there is a violation.
var violated = history.Mark{Name: "it happened"}

func findViolated(events []history.Event) []history.Violation { return history.Noted(events, violated) }

// judged is one combination of all that a verdict depends on.
type judged struct {
	expect      Expect
	violation   bool
	failed      bool   // its trial has an error
	missing     string // "trials", "variant", "events" of the trial, or nothing
	fault       string // "proved", "unproved", "one of two" proved, "absent", or none is asked for
	control     string // "violation", "failed", "missing" (the variant is the only one), "expects a violation", or none
	interrupted bool
	miscounted  bool
	other       string // "variant" or "experiment": the record is of another
}

// build makes the experiment, and the record of a run of it.
func (c judged) build() (Experiment, Record) {
	subject := Variant{Name: "subject", Expect: c.expect, Fault: c.fault != ""}
	control := Variant{Name: "control"}
	if c.control == "expects a violation" {
		control.Expect = Sometimes
	}
	e := Experiment{ID: "X01-test", Check: findViolated, Variants: []Variant{control, subject}}
	if c.control == "missing" {
		e.Variants = e.Variants[1:]
	}
	r := Record{Format: Format, Experiment: e.ID, Interrupted: c.interrupted}
	add := func(variant string, kind history.Kind, text, proof string) {
		e := history.Event{Variant: variant, Trial: 1, Timeline: "A", Kind: kind, Text: text, Proof: proof}
		e.Seq = len(r.Events) + 1
		r.Events = append(r.Events, e)
	}
	trial := TrialRecord{Number: 1}
	if c.control == "failed" {
		trial.Err = "the control failed"
	}
	add("control", history.Note, "it was here", "")
	if c.control == "violation" {
		add("control", history.Note, violated.Name, "")
	}
	r.Variants = append(r.Variants, VariantRecord{Name: "control", Trials: []TrialRecord{trial}})
	if c.control == "missing" {
		r.Variants = nil
	}
	if c.missing != "variant" {
		r.Variants = append(r.Variants, c.trials(add))
	}
	r.Count = len(r.Events)
	c.spoil(&r)
	return e, r
}

func (c judged) trials(add func(variant string, kind history.Kind, text, proof string)) VariantRecord {
	if c.missing != "events" {
		add("subject", history.Note, "it was here", "")
	}
	switch c.fault {
	case "proved":
		add("subject", history.Fault, "killed", "status 137")
	case "unproved":
		add("subject", history.Fault, "killed", "")
	case "one of two":
		add("subject", history.Fault, "killed", "status 137")
		add("subject", history.Fault, "cut", "")
	}
	if c.violation {
		add("subject", history.Note, violated.Name, "")
	}
	variant := VariantRecord{Name: "subject"}
	if c.missing == "" || c.missing == "events" {
		trial := TrialRecord{Number: 1}
		if c.failed {
			trial.Err = "it failed"
		}
		variant.Trials = append(variant.Trials, trial)
	}
	return variant
}

func (c judged) spoil(r *Record) {
	if c.miscounted {
		r.Count++
	}
	switch c.other {
	case "variant":
		r.Variants = append(r.Variants, VariantRecord{Name: "a variant that was removed"})
	case "experiment":
		r.Experiment = "X02-other"
	}
}

// want is what the design says, in its own order.
func (c judged) want() Verdict {
	ran := c.missing == "" || c.missing == "events"
	seen := c.violation && ran
	switch {
	case c.control == "missing", c.control == "violation", c.control == "expects a violation", c.other != "":
		return Inconclusive
	case c.expect == Never && seen:
		return Unexpected // however the run ended
	case c.interrupted, c.miscounted, !ran, c.failed, c.control == "failed",
		c.fault == "unproved", c.fault == "one of two", c.fault == "absent":
		return Inconclusive
	case c.missing == "events" && !c.violation && c.fault == "": // nothing at all was recorded
		return Inconclusive
	case c.expect == Sometimes && !seen:
		return Inconclusive
	}
	return AsExpected
}

// combination is the nth of all there are; it reports false behind the last.
func combination(n int) (c judged, ok bool) {
	pick := func(values ...string) string {
		value := values[n%len(values)]
		n /= len(values)
		return value
	}
	yes := func() bool { return pick("", "yes") != "" }
	if yes() {
		c.expect = Sometimes
	}
	c.violation, c.failed, c.interrupted, c.miscounted = yes(), yes(), yes(), yes()
	c.missing = pick("", "trials", "variant", "events")
	c.fault = pick("", "proved", "unproved", "one of two", "absent")
	c.control = pick("", "violation", "failed", "missing", "expects a violation")
	c.other = pick("", "variant", "experiment")
	return c, n == 0
}

// Every combination. An unexpected verdict says why.
func TestJudgeOfRecords(t *testing.T) {
	count := map[Verdict]int{}
	for n := 0; ; n++ {
		c, ok := combination(n)
		if !ok {
			break
		}
		e, r := c.build()
		count[wantJudged(t, c, e.Judge(r))]++
	}
	t.Log(count)
	if count[AsExpected] == 0 || count[Unexpected] == 0 || count[Inconclusive] == 0 {
		t.Error("not every verdict is there")
	}
}

func wantJudged(t *testing.T, c judged, j Judgement) Verdict {
	t.Helper()
	if j.Verdict != c.want() {
		t.Errorf("%+v: %s (%s), want %s", c, j.Verdict, j.Why, c.want())
	}
	if (j.Verdict == AsExpected) != (j.Why == "") {
		t.Errorf("%+v: %s because %q", c, j.Verdict, j.Why)
	}
	if ran := c.control == "failed" && j.Verdict != Unexpected; ran && !j.Void {
		t.Errorf("%+v: its control showed nothing, and its other variants count", c)
	}
	if j.Void && j.Verdict != Inconclusive {
		t.Errorf("%+v: void, and %s", c, j.Verdict)
	}
	return j.Verdict
}

// Whatever is forgotten cannot pass.
func TestZeroJudgements(t *testing.T) {
	e := Experiment{ID: "X", Check: findViolated, Variants: []Variant{{Name: "control"}, {Name: "subject"}}}
	for name, j := range map[string]Judgement{
		"the zero judgement":  {},
		"the zero experiment": Experiment{}.Judge(Record{}),
		"the zero record":     e.Judge(Record{}),
	} {
		if j.Verdict != Inconclusive {
			t.Errorf("%s: %s", name, j.Verdict)
		}
	}
}

// A trial that is listed twice is one trial.
func TestTrialListedTwice(t *testing.T) {
	e, r := judged{expect: Sometimes, violation: true}.build()
	r.Variants[1].Trials = append(r.Variants[1].Trials, r.Variants[1].Trials[0])
	if j := e.Judge(r); j.Verdict != Inconclusive || j.Variants[1].Violations != 1 || !strings.Contains(j.Why, "twice") {
		t.Errorf("%+v", j)
	}
}

func TestEvidence(t *testing.T) {
	e, r := judged{expect: Sometimes, violation: true, fault: "proved"}.build()
	a := e.Judge(r).Variants[1]
	if a.Violation == nil || len(a.Evidence) == 0 || a.Seen() != "violation in 1 of 1 trial" || a.Control {
		t.Errorf("%+v", a)
	}
	if c := e.Judge(r).Variants[0]; c.Violation != nil || !c.Control || c.Seen() != "no violation in 1 trial" {
		t.Errorf("%+v", c)
	}
	if got := (VariantJudgement{}).Seen(); got != "no trial" {
		t.Error(got)
	}
}
