package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/history"
	"locklab/stack"
)

// Mutant takes something out of the lab: then some verdict must change, or it was not needed for any. For tests.
type Mutant struct {
	Hook     redis.Hook           // in every client of a lock
	Event    func(*history.Event) // before it is recorded
	Unfenced bool                 // resources check no fence
}

// Trial is one run of an arm: what it acts with, and where it records.
type Trial struct {
	Number int        // of the arm, from 1
	Rand   *rand.Rand // of the run's seed: the same decisions again with the same seed, if not the same timing
	Real   bool       // there is a redis-server; otherwise miniredis is what runs
	App    []string   // the command line of an app instance, without its flags
	Stack  *stack.Stack

	checkout string // whose containers serve; empty: processes
	mutant   Mutant
	arm      string
	recorder *history.Recorder
	running  sync.WaitGroup
	stop     func() // ends it early

	mu      sync.Mutex
	cleanup []func() error
	left    error // what could not be undone
	clocks  []Clock
	failed  error // what ran beside it
}

// InContainers reports whether Redis runs in containers.
func (t *Trial) InContainers() bool { return t.checkout != "" }

// Record adds e to the history.
func (t *Trial) Record(e history.Event) {
	e.Variant, e.Trial = t.arm, t.Number
	if t.mutant.Event != nil {
		t.mutant.Event(&e)
	}
	t.recorder.Add(e)
}

// Tap passes on a client of Redis, which arms whose clients live in the lab's own process get them through: a mutant may change what is said there.
func (t *Trial) Tap(client redis.UniversalClient) redis.UniversalClient {
	if t.mutant.Hook != nil {
		client.AddHook(t.mutant.Hook)
	}
	return client
}

// Unfenced reports whether resources check no fence in this run, though an arm says so.
func (t *Trial) Unfenced() bool { return t.mutant.Unfenced }

// Note records something a reader should know, or what Breach looks for with [history.Noted].
func (t *Trial) Note(lane, text string) {
	t.Record(history.Event{Timeline: lane, Kind: history.Note, Text: text})
}

// Fault records what was broken, and what was seen of it. A fault without proof proves nothing.
func (t *Trial) Fault(lane, text, proof string) {
	t.Record(history.Event{Timeline: lane, Kind: history.Fault, Text: text, Proof: proof})
}

// Heal records that a fault is over.
func (t *Trial) Heal(lane, text string) {
	t.Record(history.Event{Timeline: lane, Kind: history.Heal, Text: text})
}

// Now is the time on the history's clock.
func (t *Trial) Now() time.Duration { return t.recorder.Now() }

// Events returns what this trial has recorded so far.
func (t *Trial) Events() []history.Event { return history.Of(t.recorder.Events(), t.arm, t.Number) }

// Clock reports by how much the clock of a process differs from the lab's.
func (t *Trial) Clock(c Clock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clocks = append(t.clocks, c)
}

// Cleanup calls f when the trial is over, the last first, also after a panic and an interruption.
func (t *Trial) Cleanup(f func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanup = append(t.cleanup, f)
}

// Go runs f beside the trial, which does not end before it. A panic of f ends the trial.
func (t *Trial) Go(f func()) {
	t.running.Go(func() {
		if err := caught(func() error { f(); return nil }); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.failed = errors.Join(t.failed, err)
			t.stop()
		}
	})
}

// caught makes an error of a panic of f: one trial is lost by it, and no run.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	return f()
}

// trialWithin bounds a trial, so that what never comes keeps nobody waiting.
const trialWithin = 3 * time.Minute

// run runs the arm once, and undoes everything.
func (t *Trial) run(ctx context.Context, arm Variant) (err error) {
	if t.Stack, err = stack.New(); err != nil {
		return err
	}
	if t.checkout != "" {
		t.Stack.UseContainers(t.checkout)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trialWithin, fmt.Errorf("it was not over within %s", trialWithin))
	t.stop = cancel
	defer func() {
		cancel()
		t.left = t.undo() // it waits for what may have failed
		t.left = errors.Join(t.left, t.Stack.Close())
		err = errors.Join(t.failed, err, t.left)
	}()
	err = caught(func() error { return arm.Run(ctx, t) })
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(err, context.Cause(ctx))
	}
	return err
}

func (t *Trial) undo() (err error) {
	for {
		t.mu.Lock()
		all := t.cleanup
		t.cleanup = nil
		t.mu.Unlock()
		if len(all) == 0 {
			t.running.Wait()
			return err
		}
		for _, f := range slices.Backward(all) {
			err = errors.Join(err, caught(f))
		}
	}
}
