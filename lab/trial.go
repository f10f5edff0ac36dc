package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

// Trial is one run of a variant: what it acts with, and where it records.
type Trial struct {
	Experiment string // its id
	Variant    string
	Number     int        // of the variant, from 1
	Rand       *rand.Rand // from the run's seed: the same seed makes the same decisions, if not the same timing
	Real       bool       // use redis-server; otherwise miniredis
	App        []string   // the command line of an app instance, without its flags
	Stack      *servers.Stack

	checkout string // whose containers serve as Redis; empty: processes
	mutant   redis.Hook
	pace     Pace
	recorder *history.Recorder
	running  sync.WaitGroup
	stop     func() // ends it early
	byChance atomic.Bool

	mu      sync.Mutex
	cleanup []func() error
	left    error // what could not be cleaned up
	failed  error // of the functions that run beside it
}

// InContainers reports whether Redis runs in containers.
func (t *Trial) InContainers() bool { return t.checkout != "" }

// Record adds e to the history. Its text becomes one line: joined errors have a line each.
func (t *Trial) Record(e history.Event) {
	e.Variant, e.Trial, e.Text = t.Variant, t.Number, strings.ReplaceAll(e.Text, "\n", "; ")
	t.recorder.Add(e)
}

// Tap returns client. Every client of Redis in the lab's own process goes through it, so that a mutant can change what is sent.
func (t *Trial) Tap(client redis.UniversalClient) redis.UniversalClient {
	if t.mutant != nil {
		client.AddHook(t.mutant)
	}
	return client
}

// Mark records a note that code finds: a check by [history.Noted].
func (t *Trial) Mark(timeline string, m history.Mark) {
	t.Record(m.On(history.Event{Timeline: timeline, Kind: history.Note}))
}

// Note records a remark for the reader.
func (t *Trial) Note(timeline, text string) {
	t.Record(history.Event{Timeline: timeline, Kind: history.Note, Text: text})
}

// Fault records what was broken, and the proof. A fault without proof proves nothing.
func (t *Trial) Fault(timeline, text, proof string) {
	t.Record(history.Event{Timeline: timeline, Kind: history.Fault, Text: text, Proof: proof})
}

// Break is Fault with a mark, which code finds.
func (t *Trial) Break(timeline string, m history.Mark, proof string) {
	t.Record(m.On(history.Event{Timeline: timeline, Kind: history.Fault, Proof: proof}))
}

// Heal records that a fault is over.
func (t *Trial) Heal(timeline, text string) {
	t.Record(history.Event{Timeline: timeline, Kind: history.Heal, Text: text})
}

// Measure records a value of a quantity.
func (t *Trial) Measure(timeline string, value int64, of Quantity) {
	t.Record(of.Event(timeline, value))
}

// Now is the time on the history's clock.
func (t *Trial) Now() time.Duration { return t.recorder.Now() }

// Began is when the history's time began.
func (t *Trial) Began() time.Time { return t.recorder.Began() }

// Events returns what this trial has recorded so far.
func (t *Trial) Events() []history.Event { return history.Of(t.recorder.Events(), t.Variant, t.Number) }

// Cleanup calls f when the trial is over, the last first, also after a failure and an interruption.
func (t *Trial) Cleanup(f func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanup = append(t.cleanup, f)
}

// failure is the panic of Must. A nil error was recorded before.
type failure struct{ err error }

// Must ends the trial with err, unless that is nil: then the trial proves nothing. Like testing.T.Fatal it does not return.
// It may be called by a function of [Trial.Go], but by no other goroutine.
func (t *Trial) Must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Go runs f beside the trial, which does not end before it. A failure of f ends the trial. The returned function waits for
// the end of f, and does not return when f failed.
func (t *Trial) Go(f func()) (wait func()) {
	done, failed := make(chan struct{}), false
	t.running.Go(func() {
		defer close(done)
		if err := caught(f); err != nil {
			failed = true
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.failed == nil { // the others fail because this one has stopped the trial
				t.failed = err
			}
			t.stop()
		}
	})
	return func() {
		if <-done; failed {
			panic(failure{})
		}
	}
}

// GoEach runs f for 0 to n-1 as Go does, simultaneously. The returned function waits for the end of all.
func (t *Trial) GoEach(n int, f func(i int)) (wait func()) {
	waits := make([]func(), n)
	for i := range waits {
		waits[i] = t.Go(func() { f(i) })
	}
	return func() {
		for _, wait := range waits {
			wait()
		}
	}
}

// caught makes an error of a panic of f: it costs one trial and not the run.
func caught(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	f()
	return nil
}

// trialTimeout bounds a trial on a quiet machine, so that an event that never comes does not block the run.
const trialTimeout = 3 * time.Minute

var errNotOver = errors.New("it was not over")

func (t *Trial) run(ctx context.Context, variant Variant) (err error) {
	if t.Stack, err = servers.New(); err != nil {
		return err
	}
	if t.checkout != "" {
		t.Stack.UseContainers(t.checkout)
	}
	longest := t.Scaled(trialTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("%w within %s", errNotOver, longest))
	t.stop = cancel
	defer func() {
		cancel()
		t.left = t.cleanUp() // it waits for the functions that run beside the trial
		t.left = errors.Join(t.left, t.Stack.Close())
		if t.failed != nil && errors.Is(err, context.Canceled) { // by the function that failed
			err = nil
		}
		err = errors.Join(t.failed, err, t.left)
	}()
	err = caught(func() { variant.Run(ctx, t) })
	if cause := context.Cause(ctx); (err == nil || errors.Is(err, context.DeadlineExceeded)) && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return err
}

func (t *Trial) cleanUp() (err error) {
	for ended := false; ; { // what still runs may register more
		t.mu.Lock()
		all := t.cleanup
		t.cleanup = nil
		t.mu.Unlock()
		if len(all) == 0 && ended {
			return err
		}
		if ended = len(all) == 0; ended {
			t.running.Wait()
		}
		for _, f := range slices.Backward(all) {
			err = errors.Join(err, caught(func() { t.Must(f()) }))
		}
	}
}

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
