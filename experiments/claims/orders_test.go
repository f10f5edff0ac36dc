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
		for _, o := range e.Orders {
			f, err := steps.Explore(t.Context(), o.Lock, o.Bounds, o.Breach)
			if err != nil {
				t.Fatal(err)
			}
			if broken := f.Broken.Sign() > 0; broken != (o.Expect == experiments.Sometimes) {
				t.Errorf("%s: %s, %s: %s", e.ID, o.Lock.Name, o.Breach, f)
			}
			if f.Shortest == nil {
				continue
			}
			if number, _, _ := strings.Cut(e.ID, "-"); !strings.Contains(o.Lock.Breaks, number) {
				t.Errorf("%s breaks %s, whose own words are that %q does", e.ID, o.Lock.Name, o.Lock.Breaks)
			}
			_, broken, err := steps.Replay(t.Context(), o.Lock, o.Bounds.Clients, f.Shortest)
			if err != nil || !slices.Contains(broken, o.Breach) {
				t.Errorf("%s: %s, played: %s: %v, %v", e.ID, o.Lock.Name, steps.Text(f.Shortest), broken, err)
			}
		}
	}
}
