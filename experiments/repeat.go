package experiments

import "fmt"

// MostRepeats is how often a trial is repeated at most.
const MostRepeats = 3

// ByChance says that nothing forces the interleaving of this trial, because it is a load over HTTP. The trial is repeated, at most
// [MostRepeats] times, when its variant expects a violation and it shows none. A repeat is a trial as well: all of them are recorded and
// judged. A trial that failed is not repeated, and neither is one that expects no violation.
func (t *Trial) ByChance() { t.byChance.Store(true) }

// mustRepeat reports whether the trial that one records is to be repeated.
func (e Experiment) mustRepeat(variant Variant, t *Trial, one TrialRecord) (repeat bool) {
	if variant.Expect == Never || !t.byChance.Load() || one.Err != "" {
		return false
	}
	failed := caught(func() { repeat = len(e.Check(t.Events())) == 0 }) // of a check that panics the judge tells
	return repeat && failed == nil
}

// repetition says which repeat of a trial runs.
func repetition(repeats int) string {
	if repeats == 0 {
		return ""
	}
	return fmt.Sprintf(", repeat %d of at most %d", repeats, MostRepeats)
}

// repeated says why a trial must not be a repeat; nil: it is none, or it may be one.
func (t TrialRecord) repeated(variant Variant) error {
	if t.Repeats > 0 && variant.Expect == Never {
		return fmt.Errorf("it repeats trial %d, and a trial that expects no violation is never repeated", t.Repeats)
	}
	return nil
}
