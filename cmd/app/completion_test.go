package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for line, want := range map[string][]string{
		"app sta":                          {"status"},
		"app lab r":                        {"run"},
		"app lab run L0":                   {"L03"},
		"app lab show F1":                  {"F11"},
		"app demo --top":                   {"--topology"},
		"app demo --topology m":            {"master-slave"},
		"app completion ":                  {"bash", "zsh", "fish"},
		"app demo --topology sentinel --v": {"--versions"},
	} {
		t.Setenv("COMP_LINE", line)
		got := app(t.Context())
		words := strings.Fields(got.out)
		for _, word := range want {
			if !slices.Contains(words, word) {
				t.Errorf("%q: %q is missing in %q (%s)", line, word, words, got.err)
			}
		}
		if last := line[strings.LastIndex(line, " ")+1:]; slices.ContainsFunc(words, func(w string) bool { return !strings.HasPrefix(w, last) }) {
			t.Errorf("%q: a completion does not begin with %q: %q", line, last, words)
		}
		if got.code != exitOK {
			t.Errorf("%q: exit %d: %s", line, got.code, got.err)
		}
	}
}
