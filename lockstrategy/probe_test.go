package lockstrategy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// notifying is a fake that can publish.
type notifying struct {
	*fake
	publish error
}

func (n notifying) TryNotify(context.Context, string) error { return n.publish }

// A probe names the first step that failed, and the error. It does not judge a second grant.
// A key that is held, or was deleted meanwhile, is no failure.
func TestProbe(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		fails func(*notifying)
		step  Step
		err   error
	}{
		"all is well":            {func(*notifying) {}, Notify, nil},
		"it grants nothing":      {func(n *notifying) { n.acquire = func(Request) error { return broken } }, Acquire, broken},
		"another probe has it":   {func(n *notifying) { n.acquire = func(Request) error { return ErrTaken } }, Acquire, nil},
		"the second fails":       {func(n *notifying) { n.acquire = n.second(broken) }, Acquire, broken},
		"another is refused":     {func(n *notifying) { n.acquire = n.second(ErrTaken) }, Notify, nil},
		"it renews nothing":      {func(n *notifying) { n.renew = func(context.Context) error { return broken } }, Renew, broken},
		"the key was deleted":    {func(n *notifying) { n.renew = func(context.Context) error { return ErrGone } }, Renew, nil},
		"it releases nothing":    {func(n *notifying) { n.release = broken }, Release, broken},
		"it publishes nothing":   {func(n *notifying) { n.publish = broken }, Notify, broken},
		"nothing after the step": {func(n *notifying) { n.release, n.publish = broken, errors.New("another") }, Release, broken},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &notifying{fake: newFake(t, time.Minute)}
			c.fails(n)
			if step, err := Probe(t.Context(), n, "k"); step != c.step || !errors.Is(err, c.err) {
				t.Errorf("%s: step %s, %v; want %s, %v", name, step, err, c.step, c.err)
			}
			if granted := n.grants.Load(); n.release == nil && n.releases.Load() != granted {
				t.Errorf("%s: %d grants, and %d releases", name, granted, n.releases.Load())
			}
		})
	}
}

// second answers err to each request after the first.
func (n *notifying) second(err error) func(Request) error {
	return func(Request) error {
		if n.grants.Load() == 0 {
			return nil
		}
		return err
	}
}
