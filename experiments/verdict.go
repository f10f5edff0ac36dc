// Package experiments runs the lab's claims and judges what it saw.
//
// A run only acts and records. What counts as a breach is computed from the record, and the verdict
// from the breach: both are pure functions. The zero verdict is inconclusive, so that whatever is
// forgotten cannot pass.
//
// What is NOT guaranteed: "supported" means not broken in the trials that ran, and nothing more.
package experiments

import "fmt"

// Expect is what an arm of an experiment says about breaches.
type Expect int

// An arm expects that there never is a breach, or that there sometimes is one.
const (
	Never     Expect = iota // one breach refutes the claim
	Sometimes               // one breach is the witness that is wanted
)

// String is what is expected of the lock.
func (e Expect) String() string {
	if e == Sometimes {
		return "broken"
	}
	return "held"
}

// MarshalText names it in JSON.
func (e Expect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (e *Expect) UnmarshalText(text []byte) error {
	for _, known := range []Expect{Never, Sometimes} {
		if known.String() == string(text) {
			*e = known
			return nil
		}
	}
	return fmt.Errorf("experiments: %.20q is no expectation", text)
}

// Outcome is what a run showed, before it is judged.
type Outcome struct {
	Trials     int   // that ran to their end
	Violations int   // that the record shows
	Err        error // why the record may be incomplete, or the run proves nothing
}

// Verdict is the judgement of an outcome.
type Verdict string

// The verdicts.
const (
	Inconclusive Verdict = "" // nothing was shown; the zero value
	AsExpected   Verdict = "supported"
	Unexpected   Verdict = "refuted"
)

// Judge compares what a run showed with what was expected of it. A breach that must never be
// refutes, whatever else went wrong; a missing witness refutes nothing.
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

// Because says why an outcome is not supported; of a supported one it says nothing.
func (v Verdict) Because(o Outcome) string {
	switch {
	case v == Unexpected:
		return "it must not happen and did"
	case o.Err != nil:
		return o.Err.Error()
	case v == Inconclusive:
		return "nothing was lost this time, which shows nothing: run it again"
	}
	return ""
}

// Worst is the verdict over several: refuted before inconclusive before supported. Over none it is
// inconclusive.
func Worst(verdicts ...Verdict) Verdict {
	worst := Inconclusive
	for i, v := range verdicts {
		if v == Unexpected {
			return Unexpected
		}
		if i == 0 || v == Inconclusive {
			worst = v
		}
	}
	return worst
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

// UnmarshalText reads what MarshalText wrote. Whatever else stands there concludes nothing.
func (v *Verdict) UnmarshalText(text []byte) error {
	*v = Inconclusive
	if named := Verdict(text); named == AsExpected || named == Unexpected {
		*v = named
	}
	return nil
}
