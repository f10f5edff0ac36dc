// Command readme runs the demo and writes what it printed into README.md, between two markers: no
// number stands there that a command did not print.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	page  = "README.md"
	begin = "<!-- demo: what `make demo` printed; written by `make readme` -->\n"
	end   = "<!-- /demo -->\n"
)

func main() {
	if err := update(); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func update() error {
	demo := exec.Command("go", "run", "./cmd/app", "demo")
	demo.Stderr = os.Stderr
	out, err := demo.Output()
	if err != nil {
		return fmt.Errorf("the demo: %w", err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	replaced, err := replace(string(text), "```text\n"+string(out)+"```\n")
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(replaced), 0o644)
}

// replace puts block between the markers.
func replace(text, block string) (string, error) {
	before, rest, found := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("%s lacks the markers %q and %q", page, begin, end)
	}
	return before + begin + block + end + after, nil
}
