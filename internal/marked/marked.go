// Package marked replaces the text between two markers of a page with what a command printed. So every number there was printed by a
// command. It also has the form of the tables there.
package marked

import (
	"fmt"
	"os"
	"strings"
)

// Update puts block between the markers of a page. The first marker is a whole line: the name, and which command writes there. The second
// is the name with a slash.
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
	comment, rest, whole := strings.Cut(rest, "\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !whole || !closed {
		return "", fmt.Errorf("the markers %q and %q are missing", begin+"… -->", strings.TrimSpace(end))
	}
	return before + begin + comment + "\n" + block + end + after, nil
}
