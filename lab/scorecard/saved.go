package scorecard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// folder is where the scorecards are, in the folder of the saved runs.
const folder = "try"

// MakeFolder makes the folder of the scorecards in a store. The error says that nothing can be written there.
func MakeFolder(store string) error {
	dir := filepath.Join(store, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// NewPage creates the page of a scorecard in a store. Its name has the lock and the time, so that it replaces no other. The caller must
// close it, and Save the scorecard, which lies beside it as JSON.
func NewPage(store, lock string, at time.Time) (*os.File, error) {
	if err := MakeFolder(store); err != nil {
		return nil, err
	}
	name := filepath.Join(store, folder, fileName(lock)+at.UTC().Format("-20060102-150405"))
	for n := 1; ; n++ {
		path := name
		if n > 1 { // in one second
			path = fmt.Sprintf("%s-%d", name, n)
		}
		page, err := os.OpenFile(path+".html", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, os.ErrExist) {
			return page, err
		}
	}
}

// fileName is the name of a lock as a part of a file's.
func fileName(lock string) string {
	const longest = 100 // bytes: file systems allow 255
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, lock)
	return strings.ToValidUTF8(name[:min(len(name), longest)], "")
}

// Save writes the scorecard beside its page.
func (c *Scorecard) Save() error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(Beside(c.Report), append(text, '\n'), 0o644)
}

// Beside is the file of the scorecard whose page is given.
func Beside(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) + ".json" }

// Saved are the scorecards of a store whose pages are there, the newest first. The error names files that are none.
func Saved(store string) (all []*Scorecard, err error) {
	files, _ := filepath.Glob(filepath.Join(store, folder, "*.html"))
	for _, page := range files {
		card := new(Scorecard)
		text, failed := os.ReadFile(Beside(page))
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
