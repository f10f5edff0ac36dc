package lab

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// Catalogue has experiments in the order in which they are listed. Package claims has the one of this program.
type Catalogue []Experiment

// Number is the short form of an id: L03 of L03-foreign-unlock.
func Number(id string) string {
	number, _, _ := strings.Cut(id, "-")
	return number
}

// Find returns the experiment with an id, which may be shortened to its number: L03. The error of an unknown id names the
// similar ones.
func (c Catalogue) Find(id string) (Experiment, error) {
	var similar []string
	for _, e := range c {
		number := Number(e.ID)
		if strings.EqualFold(id, e.ID) || strings.EqualFold(id, number) {
			return e, nil
		}
		if distance(id, e.ID) <= 4 || distance(Number(id), number) <= 1 || strings.Contains(e.ID, strings.ToLower(id)) {
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
