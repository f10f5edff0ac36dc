package explore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// beside runs a function on a goroutine of its own.
func beside(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() { <-done }
}

// A trial that fails ends, also while an actor waits for the turn of a step that its caller cannot cancel.
func TestAnActorEndsWithItsTrial(t *testing.T) {
	trial, end := context.WithCancel(t.Context())
	a, ended := NewActor("W"), make(chan error, 1)
	if err := a.Begin(trial, beside, func() { ended <- a.Step(func() { t.Error("it was not moved") }) }); err != nil {
		t.Fatal(err)
	}
	end()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("its step was done")
		}
	case <-time.After(time.Minute):
		t.Fatal("the actor waits for its turn")
	}
	stays := make(chan struct{})
	defer close(stays)
	if err := NewActor("R").Begin(trial, beside, func() { <-stays }); !errors.Is(err, context.Canceled) {
		t.Errorf("an actor without a step has begun: %v", err)
	}
}

// A step that does not end is not waited for after the end of the context. The actor is told that its trial has ended before its next step.
func TestAStepThatDoesNotEnd(t *testing.T) {
	trial, end := context.WithCancel(t.Context())
	a, stays, next := NewActor("W"), make(chan struct{}), make(chan error, 1)
	act := func() {
		_ = a.Step(func() { end(); <-stays })
		next <- a.Step(func() { t.Error("it does another step") })
	}
	if err := a.Begin(trial, beside, act); err != nil {
		t.Fatal(err)
	}
	for i, interleaving := range []string{"W", "W", ""} {
		if err := MoveActors(trial, interleaving, nil, a); !errors.Is(err, context.Canceled) {
			t.Errorf("move %d: %v", i+1, err)
		}
	}
	close(stays)
	if err := <-next; !errors.Is(err, context.Canceled) {
		t.Errorf("its next step: %v", err)
	}
}

// Actors do their steps as the interleaving says, and then the rest. One that has ended is left out.
func TestMoveActors(t *testing.T) {
	var done []string
	actor := func(name string, steps int) *Actor {
		a := NewActor(name)
		act := func() {
			for range steps {
				if err := a.Step(func() { done = append(done, name) }); err != nil {
					t.Error(err)
				}
			}
		}
		if err := a.Begin(t.Context(), beside, act); err != nil {
			t.Fatal(err)
		}
		return a
	}
	between := func() { done = append(done, "?") }
	if err := MoveActors(t.Context(), "B A ? B B A", between, actor("A", 3), actor("B", 2)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"B", "A", "?", "B", "A", "A"}; !slices.Equal(done, want) {
		t.Errorf("%q, want %q", done, want)
	}
}

// Every interleaving of three and two steps is there, once.
func TestInterleavings(t *testing.T) {
	all := Interleavings("R", 3, "W", 2)
	slices.Sort(all)
	if got := len(slices.Compact(slices.Clone(all))); got != 10 || len(all) != 10 {
		t.Errorf("%d different ones of %d, want 10", got, len(all))
	}
	if !slices.Contains(all, "R R W W R") {
		t.Errorf("%q", all)
	}
}
