package claims

import (
	"slices"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/steps"
)

// Every lock of steps that an experiment names holds, or breaks, as it says, over all orders; and what is found to break
// breaks when it is played.
func TestOrdersComeOutAsTheySay(t *testing.T) {
	for _, e := range All() {
		for _, o := range e.Interleavings {
			f, err := steps.Explore(t.Context(), o.Lock, o.Bounds, o.Violation)
			if err != nil {
				t.Fatal(err)
			}
			if broken := f.Violating.Sign() > 0; broken != (o.Expect == experiments.Sometimes) {
				t.Errorf("%s: %s, %s: %s", e.ID, o.Lock.Name, o.Violation, f)
			}
			if f.Counterexample == nil {
				continue
			}
			if number, _, _ := strings.Cut(e.ID, "-"); !strings.Contains(o.Lock.ViolatedIn, number) {
				t.Errorf("%s breaks %s, whose own words are that %q does", e.ID, o.Lock.Name, o.Lock.ViolatedIn)
			}
			_, broken, err := steps.Replay(t.Context(), o.Lock, o.Bounds.Clients, f.Counterexample)
			if err != nil || !slices.Contains(broken, o.Violation) {
				t.Errorf("%s: %s, played: %s: %v, %v", e.ID, o.Lock.Name, steps.Text(f.Counterexample), broken, err)
			}
		}
	}
}
