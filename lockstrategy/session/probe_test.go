package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/session"
)

// notifying is a fake that can publish.
type notifying struct {
	*bubble.Backend
	publish error
}

func (n notifying) TryNotify(context.Context, string) error { return n.publish }

// A probe names the first step that failed, and the error. It does not judge a second grant.
// A key that is held, or was deleted meanwhile, is no failure.
func TestProbe(t *testing.T) {
	broken := errors.New("broken")
	acquires := func(err error) func(*notifying) {
		return func(n *notifying) { n.OnAcquire = func(lockstrategy.Request) error { return err } }
	}
	renews := func(err error) func(*notifying) {
		return func(n *notifying) { n.OnRenew = func(context.Context) error { return err } }
	}
	for name, c := range map[string]struct {
		fails func(*notifying)
		step  session.Step
		err   error
	}{
		"all is well":            {func(*notifying) {}, session.Notify, nil},
		"it grants nothing":      {acquires(broken), session.Acquire, broken},
		"another probe has it":   {acquires(lockstrategy.ErrTaken), session.Acquire, nil},
		"the second fails":       {func(n *notifying) { n.OnAcquire = n.second(broken) }, session.Acquire, broken},
		"another is refused":     {func(n *notifying) { n.OnAcquire = n.second(lockstrategy.ErrTaken) }, session.Notify, nil},
		"it renews nothing":      {renews(broken), session.Renew, broken},
		"the key was deleted":    {renews(lockstrategy.ErrGone), session.Renew, nil},
		"it releases nothing":    {func(n *notifying) { n.ReleaseError = broken }, session.Release, broken},
		"it publishes nothing":   {func(n *notifying) { n.publish = broken }, session.Notify, broken},
		"nothing after the step": {func(n *notifying) { n.ReleaseError, n.publish = broken, errors.New("another") }, session.Release, broken},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &notifying{Backend: bubble.New(t, time.Minute)}
			c.fails(n)
			if step, err := session.Probe(t.Context(), n, "k"); step != c.step || !errors.Is(err, c.err) {
				t.Errorf("%s: step %s, %v; want %s, %v", name, step, err, c.step, c.err)
			}
			if granted := n.Grants.Load(); n.ReleaseError == nil && n.Releases.Load() != granted {
				t.Errorf("%s: %d grants, and %d releases", name, granted, n.Releases.Load())
			}
		})
	}
}

// second answers err to each request after the first.
func (n *notifying) second(err error) func(lockstrategy.Request) error {
	return func(lockstrategy.Request) error {
		if n.Grants.Load() == 0 {
			return nil
		}
		return err
	}
}
