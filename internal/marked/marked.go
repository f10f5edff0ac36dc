// Package marked keeps tables that a command writes inside pages that people write. A table stands between two markers of its page, and
// a command replaces it and nothing else.
package marked

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Update replaces one block of a page. The line before the block is a comment with its name and the command that writes it, such as
// <!-- speed: by `make compare` -->, and the line after it is <!-- /speed -->.
func Update(page, name, block string) error {
	return UpdateAll(page, map[string]string{name: block})
}

// UpdateAll replaces blocks of a page by their names: all of them, or none when a marker is missing.
func UpdateAll(page string, blocks map[string]string) error {
	text, err := Updated(page, blocks)
	if err != nil {
		return err
	}
	return os.WriteFile(page, text, 0o644)
}

// Updated returns the text of a page with these blocks, as [UpdateAll] writes it.
func Updated(page string, blocks map[string]string) ([]byte, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	replaced := string(text)
	for name, block := range blocks {
		if replaced, err = replace(replaced, name, block); err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
	}
	return []byte(replaced), nil
}

// Stale returns the names of the blocks that are different on the page.
func Stale(page string, blocks map[string]string) (stale []string, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		updated, err := replace(string(text), name, blocks[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
		if updated != string(text) {
			stale = append(stale, name)
		}
	}
	return stale, nil
}

func replace(text, name, block string) (string, error) {
	begin, end := "<!-- "+name+": ", "<!-- /"+name+" -->\n"
	before, rest, found := strings.Cut(text, begin)
	comment, rest, whole := strings.Cut(rest, "\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !whole || !closed {
		return "", fmt.Errorf("the markers %q and %q are missing", begin+"… -->", strings.TrimSpace(end))
	}
	return before + begin + comment + "\n" + block + end + after, nil
}
