package burst

import (
	"cmp"
	"slices"
	"time"

	"locklab/lab/history"
)

// Step is something that an instance did for a page view, and when it had done it. An instance of the app does not tell its steps. NOT
// guaranteed: the order of the steps of two instances while somebody sets the machine's clock.
type Step struct {
	Kind  history.Kind `json:"kind"`
	Key   string       `json:"key"`
	Value int64        `json:"value,omitempty"`
	Text  string       `json:"text,omitempty"`
	AtUS  int64        `json:"at_us"` // microseconds since 1970
}

// NewStep is a step that was done now.
func NewStep(kind history.Kind, key string, value int64, text string) Step {
	return Step{kind, key, value, text, time.Now().UnixMicro()}
}

// withSteps puts the steps of each view in the place of its answer, where the instance told them: the write is one of them.
func (b Views) withSteps(events []history.Event) (all []history.Event) {
	for _, e := range events {
		steps := b.steps[e.Owner]
		if e.Kind != history.Write || len(steps) == 0 {
			all = append(all, e)
			continue
		}
		for _, s := range steps {
			if s.Kind != history.Grant {
				e.Token = 0 // one mention is enough
			}
			e.Kind, e.Key, e.Value, e.Text, e.At = s.Kind, s.Key, s.Value, s.Text, time.UnixMicro(s.AtUS).Sub(b.Began)
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return all
}
