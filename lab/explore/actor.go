package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Actor is a client whose steps are code, and stops before each until it is moved. [World] moves locks that are lists of steps.
type Actor struct {
	Name string

	life  context.Context // ends with the trial; the context of a step may not
	wants chan struct{}   // it has arrived at its next step
	turn  chan struct{}   // it may do it
	ended chan struct{}
}

// NewActor returns an actor that does nothing yet.
func NewActor(name string) *Actor {
	return &Actor{Name: name, wants: make(chan struct{}), turn: make(chan struct{}), ended: make(chan struct{})}
}

// Begin lets the actor act until its first step, which waits for Move. run runs a function beside its caller.
func (a *Actor) Begin(ctx context.Context, run func(func()) (wait func()), act func()) error {
	a.life = ctx
	run(func() {
		defer close(a.ended)
		act()
	})
	return a.await(ctx)
}

// Move lets the actor do its next step, and returns when it has done it. After its last step it does nothing, and returns false.
func (a *Actor) Move(ctx context.Context) (moved bool, err error) {
	select {
	case a.turn <- struct{}{}:
		return true, a.await(ctx)
	case <-a.ended:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (a *Actor) await(ctx context.Context) error {
	select {
	case <-a.wants:
	case <-a.ended:
	case <-ctx.Done():
		return fmt.Errorf("%s does not come to its next step: %w", a.Name, ctx.Err())
	}
	return nil
}

// Step waits until the actor is moved, and does the step. An actor calls it in Begin's act.
func (a *Actor) Step(do func()) error {
	select {
	case a.wants <- struct{}{}:
	case <-a.life.Done():
		return a.life.Err()
	}
	select {
	case <-a.turn:
	case <-a.life.Done():
		return a.life.Err()
	}
	do()
	return nil
}

// MoveActors lets actors do one interleaving of their steps, as a list of their names, and then what is left of each. An actor that has
// ended is left out. At each "?" between is called.
func MoveActors(ctx context.Context, interleaving string, between func(), actors ...*Actor) error {
	for _, name := range strings.Fields(interleaving) {
		if i := slices.IndexFunc(actors, func(a *Actor) bool { return a.Name == name }); i >= 0 {
			if _, err := actors[i].Move(ctx); err != nil {
				return err
			}
		} else if name == "?" {
			between()
		}
	}
	for _, a := range actors {
		for moved := true; moved; {
			var err error
			if moved, err = a.Move(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Interleavings are all those of so many steps of one actor and so many of another.
func Interleavings(one string, steps int, other string, others int) (all []string) {
	if steps == 0 && others == 0 {
		return []string{""}
	}
	if steps > 0 {
		for _, rest := range Interleavings(one, steps-1, other, others) {
			all = append(all, strings.TrimSpace(one+" "+rest))
		}
	}
	if others > 0 {
		for _, rest := range Interleavings(one, steps, other, others-1) {
			all = append(all, strings.TrimSpace(other+" "+rest))
		}
	}
	return all
}
