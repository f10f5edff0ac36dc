package main

import (
	"os"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// The page shows each line that the command types.
func TestThePageShowsEachFault(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		_, table, _ := strings.Cut(string(text), "<!-- "+f.section+": by `make faults` -->\n")
		table, _, _ = strings.Cut(table, "<!-- /"+f.section+" -->")
		if !strings.Contains(table, "| `"+f.line+"` | ") || f.after != "" && !strings.Contains(table, "| `"+f.after+"` | ") {
			t.Errorf("%s is not in the table of %s", f.name(), f.section)
		}
	}
}

// Equal neighbours are written once, with their number.
func TestGrouped(t *testing.T) {
	if got, want := grouped([]string{"200", "200", "503", "200"}), "200 ×2, 503 ×1, 200 ×1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What counts is how the last requests end. Of two instances behind nginx one may answer and the other not.
func TestEnding(t *testing.T) {
	for _, c := range []struct{ answers, want string }{
		{"200 503 200 201", succeed}, {"200 200 503 000", fail}, {"200 502 200", some}, {"200 200 502", some}, {"200", some},
	} {
		if got := ending(strings.Fields(c.answers)); got != c.want {
			t.Errorf("%s: %s; want %s", c.answers, got, c.want)
		}
	}
}
