//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"locklab/lab/testenv"
)

// pasted are the pages with lines to paste.
var pasted = []string{
	"README.md", "CONTRIBUTING.md", "docs/cache.md", "docs/cli.md", "docs/compose.md", "docs/faults.md", "docs/http-api.md", "docs/lock.md",
	"docs/live.md", "docs/ratelimit.md", "docs/run-by-hand.md", "docs/shared-machine.md", "docs/shop.md", "docs/trainer.md",
	"docs/workshop.md", "docs/contributing/changes.md", "docs/contributing/checks.md", "docs/contributing/maintenance.md",
	"loadtest/README.md",
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the blocks of a page that a shell can run.
func blocks(text string) (all []string) {
	for _, found := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// commandLines are the lines of these blocks, without their comments.
func commandLines(text string) (all []string) {
	comment := regexp.MustCompile(`(^| {2,})#.*`)
	for line := range strings.Lines(strings.ReplaceAll(strings.Join(blocks(text), ""), "\\\n", "")) {
		if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// arguments are those of each call of the program in a line.
func arguments(line string) (all [][]string) {
	word := regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
	for _, found := range regexp.MustCompile(`(?:go run \./cmd/app|\./app) ([^;&|]+)`).FindAllStringSubmatch(line, -1) {
		words := word.FindAllString(found[1], -1)
		for i := range words {
			words[i] = strings.Trim(words[i], `'"`)
		}
		all = append(all, words)
	}
	return all
}

// Every curl line of the pages must work as pasted, in the order of the page.
func TestCurlLinesOfThePages(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	t.Parallel()
	testenv.Needs(t, testenv.Curl)
	const base = "http://127.0.0.1:8000"
	// Drivers think for longer here, and the page's sleep is longer too. So driver 12 has the lock also on a busy machine. Where a driver
	// comes too late nevertheless, both want another order.
	const sleeps = "sleep 0.05;"
	cmd := process(t, "demo", "--keep", "--users=2", "--drivers=2", "--think=600ms")
	addrs, _ := kept(t, cmd)
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	}()
	want := map[string]string{ // what is not 200
		"POST " + base + "/orders":                       "201",
		"POST '" + base + "/v3/orders/6/grab?driver=13'": "409", // driver 12 has it

		base + "/v3/orders/7/grab?driver=13&wait=0'": "423", // driver 12 thinks

		base + "/v3/shop/items/1/buy?buyer=7'":            "201",
		base + "/v0/shop/items/1/buy?buyer=8&quantity=3'": "409", // two are left
		base + "/v0/shop/items/1/buy?buyer=9'":            "201", // twice: the answer is replayed
		base + "/v0/shop/items/1/buy?buyer=10'":           "422", // with the key of buyer 9
		base + "/v3/shop/items/1/buy?buyer=7&once=true'":  "409", // the buyer has an order
		base + "/v0/shop/orders/1/cancel":                 "409", // it is paid
	}
	if answer, err := http.Get(addrs[0] + "/ui/story/1"); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the live page of the kept demo: %v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
	lines := 0
	for _, line := range commandLines(page(t, "docs/http-api.md") + page(t, "docs/workshop.md") +
		page(t, "docs/cache.md") + page(t, "docs/shop.md") + page(t, "docs/ratelimit.md") + page(t, "docs/faults.md")) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		lines++
		expected := "200"
		for part, code := range want {
			if strings.HasSuffix(line, part) {
				expected = code
			}
		}
		here := strings.NewReplacer(base, addrs[0], sleeps, "sleep 0.3;").Replace(line)
		code, err := answerOf(here)
		for again := 0; again < 3 && err == nil && code != expected && strings.Contains(line, sleeps); again++ {
			_, _, made := ask(t, http.MethodPost, addrs[0]+"/orders")
			var order struct{ ID int }
			if err := json.Unmarshal([]byte(made), &order); err != nil {
				t.Fatal(made, err)
			}
			code, err = answerOf(strings.ReplaceAll(here, "/orders/7/", fmt.Sprintf("/orders/%d/", order.ID)))
		}
		if err != nil || code != expected {
			t.Errorf("%s\n  answers %s (%v), want %s", line, code, err, expected)
		}
	}
	if lines < 16 {
		t.Fatalf("the pages have %d lines for curl", lines)
	}
}

// answerOf is the status of the answer to a line's last curl.
func answerOf(line string) (code string, err error) {
	out, err := exec.Command("sh", "-c", line+` -s -o /dev/null -w '%{http_code}'`).Output()
	return string(out), err
}

// Every line that a page shows has flags, targets, services and files that exist.
func TestCommandLinesOfThePages(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	makefile, composed := page(t, "Makefile"), page(t, "deploy/lab.yaml")
	calls := 0
	for _, name := range pasted {
		for _, line := range commandLines(page(t, name)) {
			for _, args := range arguments(line) {
				calls++
				if i := slices.Index(args, "--"); i >= 0 { // another program's arguments follow
					args = args[:i]
				}
				if got := app(t.Context(), append(args, "--help")...); got.code != exitOK {
					t.Errorf("%s: %s\n  %s", name, line, got.err)
				}
			}
			target := regexp.MustCompile(`^make ([a-z-]+)`).FindStringSubmatch(line)
			if target != nil && !strings.Contains(makefile, "\n"+target[1]+":") {
				t.Errorf("%s: there is no %s", name, target[0])
			}
			service := regexp.MustCompile(`^docker compose run --rm (?:-e \S+ )*(\S+)`).FindStringSubmatch(line)
			if service != nil && !strings.Contains(composed, "\n  "+service[1]+":") {
				t.Errorf("%s: there is no service %s", name, service[1])
			}
			for _, file := range regexp.MustCompile(`(?:loadtest|examples)/\S+\.(?:js|jmx|xml|py)`).FindAllString(line, -1) {
				if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if calls < 40 {
		t.Errorf("the pages call the program %d times", calls)
	}
}

// docs/cli.md names every command and every exit code.
func TestThePageOfCommands(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	text := page(t, "docs/cli.md")
	parser, err := newParser(t.Context(), streams{io.Discard, io.Discard}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Leaves(true) {
		name := strings.TrimPrefix(command.FullPath(), "app ")
		if !regexp.MustCompile("`(app )?" + name + "\\b").MatchString(text) {
			t.Errorf("the command %s is missing", name)
		}
	}
	for _, code := range []int{exitOK, exitUnexpected, exitInconclusive, exitUsage, exitUnavailable, exitInternal, exitInterrupted} {
		if !strings.Contains(text, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("the exit code %d is missing", code)
		}
	}
}

// A page that a page names must be there, and have the heading that is named.
func TestLinksHaveTargets(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	tracked, err := exec.Command("git", "-C", "../..", "ls-files", "*.md", ":!*/testdata/*").Output() // those are pages as a test expects them
	if err != nil {
		testenv.Skip(t, "this is no checkout: "+err.Error())
	}
	link := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	heading, punctuation := regexp.MustCompile(`(?m)^#+ (.*)$`), regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for name := range strings.FieldsSeq(string(tracked)) {
		for _, found := range link.FindAllStringSubmatch(page(t, name), -1) {
			target := name
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(name), found[1])
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s names %s, which is not there", name, found[1])
				continue
			}
			if found[2] == "" { // it may be a folder
				continue
			}
			var anchors []string
			for _, h := range heading.FindAllStringSubmatch(page(t, target), -1) {
				anchors = append(anchors, "#"+strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
			}
			if !slices.Contains(anchors, found[2]) {
				t.Errorf("%s names %s of %s, which is not there", name, found[2], target)
			}
		}
	}
}
