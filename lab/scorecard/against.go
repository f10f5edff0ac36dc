package scorecard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/lab"
)

// Trend is what a change of a row means.
type Trend string

// The trends.
const (
	Worse   Trend = "worse"
	Better  Trend = "better"
	Unclear Trend = "unclear" // such as violated before, and inconclusive now
	New     Trend = "new"     // the row was not on the earlier scorecard
	Gone    Trend = "gone"    // the row was on it, and this lab has none of that number
)

// Change is a row with another state than on an earlier scorecard.
type Change struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Before State  `json:"before,omitempty"`
	Now    State  `json:"now,omitempty"`
	Trend  Trend  `json:"trend"`
	Why    string `json:"why,omitempty"` // it does not hold now
}

// String is the change in a few words: T05 holds → violated.
func (c Change) String() string {
	switch number := lab.Number(c.ID); c.Trend {
	case New:
		return fmt.Sprintf("%s %s (new)", number, c.Now)
	case Gone:
		return fmt.Sprintf("%s %s (gone)", number, c.Before)
	default:
		return fmt.Sprintf("%s %s → %s", number, c.Before, c.Now)
	}
}

// Against compares the scorecard with an earlier one. A row that this run left out is not compared.
func (c *Scorecard) Against(earlier *Scorecard) (changes []Change) {
	for _, now := range c.Rows {
		var before State
		if i := earlier.index(now.ID); i >= 0 {
			before = earlier.Rows[i].State
		}
		if before != now.State {
			changes = append(changes, Change{now.ID, now.Title, before, now.State, trend(before, now), now.Why})
		}
	}
	for _, before := range earlier.Rows {
		if _, err := Chosen([]string{lab.Number(before.ID)}); err != nil {
			changes = append(changes, Change{ID: before.ID, Title: before.Title, Before: before.State, Trend: Gone})
		}
	}
	return changes
}

// index is the place of the row with the number of an id, or -1.
func (c *Scorecard) index(id string) int {
	return slices.IndexFunc(c.Rows, func(r Score) bool { return lab.Number(r.ID) == lab.Number(id) })
}

// trend is what it means that a row was in one state and is in another. What this run or this machine could not try is unclear.
func trend(before State, now Score) Trend {
	switch {
	case before == "":
		return New
	case now.State == Violated, now.State == NotClaimed && strings.HasPrefix(now.Why, unclaimed),
		now.State == Inconclusive && before == Holds:
		return Worse
	case now.State == Holds:
		return Better
	}
	return Unclear
}

// AnyWorse reports whether a row became worse.
func AnyWorse(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Trend == Worse })
}

// ReadCard reads a scorecard that was saved as JSON. The error says what to do.
func ReadCard(path string) (*Scorecard, error) {
	if filepath.Ext(path) == ".html" {
		return nil, fmt.Errorf("it is the page; the scorecard is the file beside it, %s", Beside(path))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w; app lab try saves each scorecard as %s/NAME-TIME.json in its store", err, folder)
	}
	card := new(Scorecard)
	if err := json.Unmarshal(text, card); err != nil {
		return nil, fmt.Errorf("it is no scorecard: %w; name a file that app lab try has saved, or printed with --json", err)
	}
	if len(card.Rows) == 0 {
		return nil, errors.New("it is JSON without rows; name a scorecard that app lab try has saved, or printed with --json")
	}
	for _, row := range card.Rows {
		if !slices.Contains(States, row.State) {
			return nil, fmt.Errorf("its row %q has the unknown state %q; save the scorecard again with this version of app", row.ID, row.State)
		}
	}
	return card, nil
}

// Past is a saved scorecard in the history of its lock.
type Past struct {
	Name    string        `json:"name"`
	Ended   time.Time     `json:"at"`
	Counts  map[State]int `json:"counts"`
	Changes []Change      `json:"changes,omitempty"` // of rows that were tried before, since they last were
	Report  string        `json:"report"`
}

// History is the past of each lock, the oldest scorecard first. saved has the newest first. A name selects one lock.
func History(saved []*Scorecard, name string) (all []Past) {
	before := make(map[string]*Scorecard) // by lock: each row as it was tried last
	for _, card := range slices.Backward(saved) {
		if name != "" && card.Name != name {
			continue
		}
		past := Past{Name: card.Name, Ended: card.Ended, Counts: make(map[State]int), Report: card.Report}
		for _, state := range States {
			past.Counts[state] = card.Count(state)
		}
		if last := before[card.Name]; last != nil {
			past.Changes = slices.DeleteFunc(card.Against(last), func(c Change) bool {
				return c.Trend == New || c.Trend == Gone || c.Now == NotTried
			})
		} else {
			before[card.Name] = new(Scorecard)
		}
		before[card.Name].note(card)
		all = append(all, past)
	}
	slices.SortStableFunc(all, func(a, b Past) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// note takes over the rows that another scorecard has tried.
func (c *Scorecard) note(other *Scorecard) {
	for _, row := range other.Rows {
		switch i := c.index(row.ID); {
		case row.State == NotTried:
		case i < 0:
			c.Rows = append(c.Rows, row)
		default:
			c.Rows[i] = row
		}
	}
}
