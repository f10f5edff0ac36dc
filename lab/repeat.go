package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"locklab/lockstrategy"
)

// MostRepeats is how often a trial is repeated at most. It is repeated for two reasons: see [Trial.ByChance], and because it was late. A
// late trial shows no violation, and ends with an error that says that something was not done in time. This machine has become slower
// than its [Pace] says. The repeat has twice the time. A late trial is recorded, and is not counted. Another failure is not repeated.
const MostRepeats = 3

// ByChance says that nothing forces the interleaving of this trial, because it is a load over HTTP. The trial is repeated, at most
// [MostRepeats] times, when its variant expects a violation and it shows none. A repeat is a trial as well: all of them are recorded and
// judged.
func (t *Trial) ByChance() { t.byChance.Store(true) }

// mustRepeat reports whether a trial that showed no violation and ended with err is to be repeated.
func mustRepeat(variant Variant, t *Trial, err error) bool {
	if err == nil {
		return variant.Expect == Sometimes && t.byChance.Load()
	}
	return late(err) && t.left == nil
}

// late reports whether a trial failed because something was not done in time: an answer, or the renewal of a lease. A lease that
// another client or the server took away is not late. Neither is a trial that has used up all of its time: it would do so again.
func late(err error) bool {
	is := func(cause error) bool { return errors.Is(err, cause) }
	inTime := []error{context.DeadlineExceeded, os.ErrDeadlineExceeded, lockstrategy.ErrExpired, lockstrategy.ErrUnreachable}
	return slices.ContainsFunc(inTime, is) && !slices.ContainsFunc([]error{errNotOver, lockstrategy.ErrForced, lockstrategy.ErrGone}, is)
}

// slower is the pace of a trial that is repeated because this one was too fast.
func (p Pace) slower() Pace { return min(2*max(p, 1), slowest) }

// wasLate reports whether that trial was late, and another one was run in its place.
func (v VariantRecord) wasLate(number int) bool {
	late := func(t TrialRecord) bool { return t.Number == number && t.Late }
	return slices.ContainsFunc(v.Trials, late) && slices.ContainsFunc(v.Trials, func(t TrialRecord) bool { return t.Repeats == number })
}

// repeated says why trial t must not be a repeat; nil: it is none, or it may be one.
func (v VariantRecord) repeated(variant Variant, t TrialRecord) error {
	if t.Repeats > 0 && variant.Expect == Never && !v.wasLate(t.Repeats) {
		return fmt.Errorf("it repeats trial %d, which was not late; a trial that expects no violation is repeated for nothing else", t.Repeats)
	}
	return nil
}
