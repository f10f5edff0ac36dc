// Package marked replaces what a command has written into a page, between two markers: no number stands there that a
// command did not print.
package marked

import (
	"fmt"
	"os"
	"strings"
)

// Update puts block between the markers of a page. The first marker is a whole line that says who writes there; the
// name in it, with a slash, is the second.
func Update(page, name, block string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	replaced, err := replace(string(text), name, block)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(replaced), 0o644)
}

func replace(text, name, block string) (string, error) {
	begin, end := "<!-- "+name+": ", "<!-- /"+name+" -->\n"
	before, rest, found := strings.Cut(text, begin)
	says, rest, whole := strings.Cut(rest, "\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !whole || !closed {
		return "", fmt.Errorf("it lacks the markers %q and %q", begin+"… -->", strings.TrimSpace(end))
	}
	return before + begin + says + "\n" + block + end + after, nil
}
