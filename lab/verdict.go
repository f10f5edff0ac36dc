package lab

import (
	"fmt"
	"slices"
)

// Expect is what a variant of an experiment says about violations.
type Expect int

// A variant expects that there never is a violation, or that there sometimes is one.
const (
	Never     Expect = iota // one violation is unexpected
	Sometimes               // one violation is the counterexample that is wanted
)

// String is what is expected of the trials.
func (e Expect) String() string {
	if e == Sometimes {
		return "violation"
	}
	return "no violation"
}

// MarshalText names it in JSON.
func (e Expect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText has written.
func (e *Expect) UnmarshalText(text []byte) error {
	for _, known := range []Expect{Never, Sometimes} {
		if known.String() == string(text) {
			*e = known
			return nil
		}
	}
	return fmt.Errorf("%q is no expectation", text)
}

// Outcome is what a run showed, before it is judged.
type Outcome struct {
	Trials     int   // that ran to their end
	Violations int   // trials with one
	Err        error // why the record may be incomplete, or the run proves nothing
}

// Verdict is the judgement of an outcome.
type Verdict string

// The verdicts.
const (
	Inconclusive Verdict = "" // nothing was shown; the zero value
	AsExpected   Verdict = "as expected"
	Unexpected   Verdict = "unexpected"
)

// Judge compares what a run showed with what was expected of it. A violation that must never happen is unexpected, whatever
// else went wrong. A violation that did not happen is inconclusive: it may happen the next time.
func Judge(expect Expect, o Outcome) Verdict {
	switch {
	case expect == Never && o.Violations > 0:
		return Unexpected
	case o.Err != nil || o.Trials == 0:
		return Inconclusive
	case expect == Never, o.Violations > 0:
		return AsExpected
	}
	return Inconclusive
}

// Because says why an outcome is not as expected; otherwise it is empty.
func (v Verdict) Because(o Outcome) string {
	switch {
	case v == Unexpected:
		return "a violation happened that must not happen"
	case o.Err != nil:
		return o.Err.Error()
	case o.Trials == 0:
		return "no trial of it has ended"
	case v == Inconclusive:
		return "no violation happened this time, which shows nothing: run it again"
	}
	return ""
}

// Worst is the verdict over several: unexpected before inconclusive before as expected. Over none it is inconclusive.
func Worst(verdicts ...Verdict) Verdict {
	switch {
	case slices.Contains(verdicts, Unexpected):
		return Unexpected
	case len(verdicts) == 0 || slices.Contains(verdicts, Inconclusive):
		return Inconclusive
	}
	return AsExpected
}

// String names the verdict.
func (v Verdict) String() string {
	if v == Inconclusive {
		return "inconclusive"
	}
	return string(v)
}

// MarshalText names the verdict in JSON, the zero one too.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText has written.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, known := range []Verdict{Inconclusive, AsExpected, Unexpected} {
		if known.String() == string(text) {
			*v = known
			return nil
		}
	}
	return fmt.Errorf("%q is no verdict", text)
}
