package claims

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lab/testenv"
)

// Every lock of steps that an experiment names is violated, or not, as it says, over all interleavings. A counterexample
// violates when it is played.
func TestInterleavingsAreAsExpected(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, e := range All() {
		for _, o := range e.Interleavings {
			f, err := explore.Explore(t.Context(), o.Lock, o.Bounds, o.Violation)
			if err != nil {
				t.Fatal(err)
			}
			if violates := f.Violating.Sign() > 0; violates != (o.Expect == lab.Sometimes) {
				t.Errorf("%s: %s, %s: %s", e.ID, o.Lock.Name, o.Violation, f)
			}
			if f.Counterexample == nil {
				continue
			}
			if number := lab.Number(e.ID); !strings.Contains(o.Lock.ViolatedIn, number) {
				t.Errorf("%s violates %s, which names %q", e.ID, o.Lock.Name, o.Lock.ViolatedIn)
			}
			_, found, err := explore.Replay(t.Context(), o.Lock, o.Bounds.Clients, f.Counterexample)
			if err != nil || !slices.Contains(found, o.Violation) {
				t.Errorf("%s: %s, played: %s: %v, %v", e.ID, o.Lock.Name, explore.Text(f.Counterexample), found, err)
			}
		}
	}
}
