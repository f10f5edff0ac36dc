package try

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// folder is where the scorecards are, in the folder of the saved runs.
const folder = "try"

// PageOf is the file of a lock's page in a store. Its scorecard as JSON lies beside it. Where only some rows were tried it is another one,
// so that it replaces no whole scorecard.
func PageOf(store, lock string, only ...string) string {
	const longest = 100 // letters
	file := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, strings.Join(append([]string{lock}, only...), " "))
	if letters := []rune(file); len(letters) > longest {
		file = string(letters[:longest])
	}
	return filepath.Join(store, folder, file+".html")
}

// Save writes the scorecard beside its page.
func (c *Scorecard) Save() error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(beside(c.Report), append(text, '\n'), 0o644)
}

func beside(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) + ".json" }

// Saved are the scorecards of a store whose pages are there, the newest first. The error names files that are none.
func Saved(store string) (all []*Scorecard, err error) {
	files, _ := filepath.Glob(filepath.Join(store, folder, "*.html"))
	for _, page := range files {
		card := new(Scorecard)
		text, failed := os.ReadFile(beside(page))
		if failed == nil {
			failed = json.Unmarshal(text, card)
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		card.Report = page
		all = append(all, card)
	}
	slices.SortFunc(all, func(a, b *Scorecard) int { return b.Ended.Compare(a.Ended) })
	return all, err
}
