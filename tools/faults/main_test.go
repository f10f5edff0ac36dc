package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// The page can be repeated from its top to its end. Each block starts a lab of its own, and `make faults` runs them in the same order.
func TestThePageIsInItsOrder(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, found := range regexp.MustCompile(`<!-- (\S+): written by make faults -->`).FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, found[1])
	}
	if len(shown) != len(faults) {
		t.Fatalf("the page has %d blocks, and make faults %d", len(shown), len(faults))
	}
	for i, f := range faults {
		block := blockOf(string(text), f.name)
		if shown[i] != f.name {
			t.Errorf("block %d of the page is %s, and make faults runs %s", i+1, shown[i], f.name)
		}
		begins := "```text\n$ " + f.fresh() + "\n$ " + f.line + "\n"
		if !strings.HasPrefix(block, begins) || f.after != "" && !strings.Contains(block, "\n$ "+f.after+"\n") {
			t.Errorf("%s does not show the lines that make faults runs:\n%s", f.name, block)
		}
		if conclusion(block) == "" {
			t.Errorf("%s has no conclusion:\n%s", f.name, block)
		}
	}
}

// Equal neighbours are written once, with their number. A line that is too wide is cut, and nothing else is.
func TestWhatABlockShows(t *testing.T) {
	for got, want := range map[string]string{
		grouped(nil): "", grouped([]string{"200", "200", "503", "200"}): "200 ×2, 503 ×1, 200 ×1",
		cut("\na\nb\n\n"): "a\nb\n", cut(strings.Repeat("ä", widest-1)): strings.Repeat("ä", widest-1) + "\n",
		cut(strings.Repeat("ä", widest+1)): strings.Repeat("ä", widest-1) + "…\n",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Numbers that differ from run to run do not count. The success of requests in the end counts, and so does a lost view.
func TestConclusion(t *testing.T) {
	for _, c := range []struct{ block, want string }{
		{"POST /v3/pview: 200 ×3, 503 ×2, 200 ×27; longest time without a success: 5 s\n", "requests succeed"},
		{"POST /v3/pview: 200 ×3, 503 ×5\nGET /pview: 503\n", "requests fail; the counter cannot be read"},
		{"POST /v3/pview: 200 ×4, 502 ×1, 200 ×1\n$ docker start x\nPOST /v3/pview: 200 ×2\n", "some requests succeed; requests succeed"},
		{"POST /orders: 201 ×3, 503 ×1, 000 ×1, 503 ×1\n", "requests fail"},
		{"GET /pview: the counter is 30; 30 views were confirmed with 200\n", "views were lost: false"},
		{"GET /pview: the counter is 35; 38 views were confirmed with 200\n", "views were lost: true"},
	} {
		if got := conclusion(c.block); got != c.want {
			t.Errorf("%q: %s; want %s", c.block, got, c.want)
		}
	}
}
