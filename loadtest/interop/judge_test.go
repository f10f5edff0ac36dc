package interop_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// history is what the processes say they wrote. A value is also the number of its grant, as long as
// none is lost: so it orders all grants, and nobody's clock is asked.
type history struct {
	wrote map[string][]int64 // by process, in its order
	begun int64              // the counter when all of them were at it
	ended int64              // the counter when the first was told that it is enough
}

// lost reports updates that are lost: every value must have been written, and by one process only,
// and the last is what the counter says.
func (h history) lost(last int64) error {
	by := make(map[int64]string)
	var err error
	for _, process := range slices.Sorted(maps.Keys(h.wrote)) {
		for _, value := range h.wrote[process] {
			if other, twice := by[value]; twice {
				err = errors.Join(err, fmt.Errorf("lost update: %d was written by %s and by %s", value, other, process))
			}
			by[value] = process
		}
	}
	for value := int64(1); value <= last; value++ {
		if by[value] == "" {
			err = errors.Join(err, fmt.Errorf("nobody wrote %d", value))
		}
	}
	if len(by) > int(last) {
		err = errors.Join(err, fmt.Errorf("the counter says %d, and %d values were written", last, len(by)))
	}
	return err
}

// longest is the longest that a process waited while all were at it, counted in grants to others.
func (h history) longest(process string) int64 {
	before, longest := h.begun, int64(0)
	for _, value := range h.wrote[process] {
		if value > before && value <= h.ended {
			longest = max(longest, value-before-1)
			before = value
		}
	}
	return max(longest, h.ended-before)
}

// starved reports processes that had less than share, and those that waited longer than bound.
func (h history) starved(share int, bound int64) error {
	var err error
	for _, process := range slices.Sorted(maps.Keys(h.wrote)) {
		if had := len(h.wrote[process]); had < share {
			err = errors.Join(err, fmt.Errorf("%s had %d grants, its share is %d", process, had, share))
		}
		if waited := h.longest(process); waited > bound {
			err = errors.Join(err, fmt.Errorf("%s waited while others had %d grants; more than %d is starvation", process, waited, bound))
		}
	}
	return err
}

// Histories that the checks must refuse, and histories that they must accept.
func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		history
		last int64
		says string // empty: nothing to find
	}{
		"fair":               {history{map[string][]int64{"a": {1, 3}, "b": {2, 4}}, 0, 4}, 4, ""},
		"written twice":      {history{map[string][]int64{"a": {1, 2}, "b": {2, 3}}, 0, 3}, 3, "2 was written by a and by b"},
		"twice by one":       {history{map[string][]int64{"a": {1, 1}, "b": {2, 3}}, 0, 3}, 3, "1 was written by a and by a"},
		"nobody's":           {history{map[string][]int64{"a": {1, 2}, "b": {4, 5}}, 0, 5}, 5, "nobody wrote 3"},
		"counter set back":   {history{map[string][]int64{"a": {1, 2}, "b": {3, 4}}, 0, 4}, 3, "the counter says 3, and 4"},
		"too little":         {history{map[string][]int64{"a": {1, 3, 4}, "b": {2}}, 0, 4}, 4, "b had 1 grants, its share is 2"},
		"waited too long":    {history{map[string][]int64{"a": {1, 2, 3, 4, 5}, "b": {6, 7}}, 0, 7}, 7, "b waited while others had 5"},
		"waits at the end":   {history{map[string][]int64{"a": {3, 4, 5, 6}, "b": {1, 2}}, 0, 6}, 6, "b waited while others had 4"},
		"not all had begun":  {history{map[string][]int64{"a": {1, 2, 3, 4, 5}, "b": {6, 7}}, 4, 7}, 7, ""},
		"somebody was ended": {history{map[string][]int64{"a": {3, 4, 5, 6}, "b": {1, 2}}, 0, 3}, 6, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(test.lost(test.last), test.starved(2, 3))
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Fatalf("got %v, want %q", err, test.says)
			}
		})
	}
}
