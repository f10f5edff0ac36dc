package experiments

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// Catalogue has experiments in the order in which they are listed. Package claims has the one of this program.
type Catalogue []Experiment

// Find returns the experiment with an id, which may be shortened to its number: L03. The error of an unknown id names the
// similar ones.
func (c Catalogue) Find(id string) (Experiment, error) {
	var similar []string
	for _, e := range c {
		number, _, _ := strings.Cut(e.ID, "-")
		if strings.EqualFold(id, e.ID) || strings.EqualFold(id, number) {
			return e, nil
		}
		begin, _, _ := strings.Cut(id, "-")
		if distance(id, e.ID) <= 4 || distance(begin, number) <= 1 || strings.Contains(e.ID, strings.ToLower(id)) {
			similar = append(similar, e.ID)
		}
	}
	if len(similar) == 0 {
		return Experiment{}, fmt.Errorf("there is no experiment %q; app lab list shows all", id)
	}
	return Experiment{}, fmt.Errorf("there is no experiment %q; did you mean %s?", id, strings.Join(similar, ", "))
}

func distance(a, b string) int {
	return levenshtein.Distance(strings.ToLower(a), strings.ToLower(b), nil)
}
