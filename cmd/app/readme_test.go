//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"locklab/internal/testenv"
)

// Every curl line of the README must work as pasted, in the order of the page.
func TestReadmeLines(t *testing.T) {
	testenv.Needs(t, testenv.Curl)
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const base = "http://127.0.0.1:8000"
	cmd := process(t, "demo", "--keep", "--users=2", "--think=1ms")
	addrs := kept(t, cmd)
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	}()
	want := map[string]string{ // what is not 200
		"POST " + base + "/orders":                       "201",
		"POST '" + base + "/v3/orders/6/grab?driver=13'": "409", // driver 12 has it
	}
	lines := 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "curl ") || !strings.Contains(line, base) {
			continue
		}
		lines++
		expected := "200"
		for part, code := range want {
			if strings.HasSuffix(line, part) {
				expected = code
			}
		}
		shell := exec.Command("sh", "-c", strings.ReplaceAll(line, base, addrs[0])+` -s -o /dev/null -w '%{http_code}'`)
		code, err := shell.Output()
		if err != nil || string(code) != expected {
			t.Errorf("%s\n  answers %s (%v), want %s", line, code, err, expected)
		}
	}
	if lines < 10 {
		t.Fatalf("the README has %d lines for curl", lines)
	}
}

// The table of the README is printed by the demo. Its numbers differ from run to run; the words do not.
func TestReadmeShowsWhatTheDemoPrints(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	got := app(t.Context(), "demo", "--embedded", "--think=1ms")
	numbers := regexp.MustCompile(`[0-9]+(\.[0-9]+)?|─+| {2,}|redis-server|, no real|miniredis|as expected|unexpected|inconclusive`)
	words := func(line string) string {
		return strings.Join(strings.Fields(numbers.ReplaceAllString(line, " ")), " ")
	}
	shown := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		shown[words(line)] = true
	}
	for line := range strings.Lines(got.out) {
		if !shown[words(line)] {
			t.Errorf("the README does not show this line of the demo (make readme writes it): %q", line)
		}
	}
}

// A page that a page names must be there.
func TestLinksHaveTargets(t *testing.T) {
	tracked, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Skip("this is no checkout: ", err)
	}
	pages := strings.Fields(string(tracked))
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(page), found[1])); err != nil {
				t.Errorf("%s names %s, which is not there", page, found[1])
			}
		}
	}
}
