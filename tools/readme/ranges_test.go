package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/burst"
	"locklab/lab/testenv"
)

// The tables of the pages are those of the saved rounds, and nobody has typed a number.
func TestThePagesShowTheSavedRounds(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	origin, all, err := load("../../" + saved)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]string{"README.md": summary(all), workshop: details(origin, all)} {
		page, err := os.ReadFile("../../" + name)
		if err != nil || !strings.Contains(string(page), "from docs/rounds.csv -->\n"+block+"<!-- /ranges -->") {
			t.Errorf("%s does not show docs/rounds.csv; make readme PART=ranges writes it (%v)", name, err)
		}
	}
}

func TestRanges(t *testing.T) {
	var r burst.Results
	for round, finals := range [][2]int64{{5, 400}, {579, 346}} { // v1, v2
		for i, version := range []string{"v1", "v2"} {
			row := burst.Judged{Round: round + 1, Version: version}
			r.Pageview = append(r.Pageview, burst.PageviewRow{Judged: row, Counts: burst.Counts{Final: finals[i]}})
			r.Order = append(r.Order, burst.OrderRow{Judged: row, Winners: 2 + round*(1-i)})
		}
	}
	file := filepath.Join(t.TempDir(), "rounds.csv")
	if err := os.WriteFile(file, encode("here, today", r), 0o600); err != nil {
		t.Fatal(err)
	}
	origin, all, err := load(file)
	if err != nil || origin != "here, today" {
		t.Fatalf("%q, %v", origin, err)
	}
	for text, says := range map[string]string{
		summary(all): "| v2 | a mutex in this process, which other processes do not see | 346 to 400 | 2 |\n",
		details(origin, all): "| v1 | 5 to 579 | 579 | 0 | 0 | 2 to 3 |\n| v2 | 346 to 400 | 400 | 0 | 0 | 2 |\n\n" +
			"Measured by here, today.\n",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if err := os.WriteFile(file, []byte("version,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := load(file); err == nil || !strings.Contains(err.Error(), "go run ./tools/readme rounds") {
		t.Errorf("a damaged file: %v", err)
	}
}
