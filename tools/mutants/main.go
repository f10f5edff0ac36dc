// Command mutants makes the changes of mutants.txt, which explains its format, one at a time and expects that a test fails. A change that
// no test notices is a promise without a test.
//
// Nothing in the checkout is changed: `go test -overlay` reads the changed file instead of the original one, an embedded
// script as well as a Go file.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// simultaneous is the number of tests that run at the same time.
const simultaneous = 3

func main() {
	only := flag.String("run", "", "regular expression for the names of the mutants to test (default: all)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all, err := load(flag.Arg(0), *only)
	notKilled := 0
	if err == nil {
		notKilled, err = run(ctx, os.Stdout, all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(69)
	}
	if notKilled > 0 {
		os.Exit(1)
	}
}

// mutant is one change, and the test that must fail with it.
type mutant struct {
	name     string
	file     string // below the root of the module
	old, new string // old occurs once in the file
	test     string // a package, a space, and a regular expression for go test -run
}

// load reads the mutants of a list whose names match.
func load(list, only string) ([]mutant, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	all, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	name, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !name.MatchString(m.name) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no mutant matches %q", list, only)
	}
	return all, nil
}

// parse reads a list.
func parse(list string) (all []mutant, err error) {
	for i, line := range strings.Split(list, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		if field == "name" {
			all = append(all, mutant{})
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %d: a mutant begins with its name", i+1)
		}
		m := &all[len(all)-1]
		to := map[string]*string{"name": &m.name, "file": &m.file, "old": &m.old, "new": &m.new, "test": &m.test}[field]
		if to == nil {
			return nil, fmt.Errorf("line %d: %q is not name, file, old, new or test, followed by a colon and a space", i+1, line)
		}
		*to = strings.TrimPrefix(value, " ")
	}
	for _, m := range all {
		if _, pattern, _ := strings.Cut(m.test, " "); m.file == "" || m.old == "" || m.old == m.new || pattern == "" {
			return nil, fmt.Errorf("%q lacks its file, what is old or new, or the package and pattern of its test", m.name)
		}
	}
	return all, nil
}

// run tests each mutant, some of them simultaneously, writes what it found, and returns how many were not killed. It also runs
// each test without a mutant: a test that fails anyway would kill everything.
func run(ctx context.Context, out io.Writer, all []mutant) (notKilled int, err error) {
	began := time.Now()
	unchanged := make(map[string]func() result)
	for _, m := range all {
		unchanged[m.test] = sync.OnceValue(func() result { return m.run(ctx, "") })
	}
	var group errgroup.Group
	group.SetLimit(simultaneous)
	var printing sync.Mutex
	for _, m := range all {
		group.Go(func() error {
			r := unchanged[m.test]()
			switch r.verdict {
			case survived:
				r = m.try(ctx)
			case killed:
				r.verdict = fails
			}
			if ctx.Err() != nil { // a test that was interrupted has noticed nothing
				return ctx.Err()
			}
			printing.Lock()
			defer printing.Unlock()
			fmt.Fprintf(out, "%-14s %5.1f s  %s\n", r.verdict, r.took.Seconds(), m.name)
			if r.verdict != killed {
				fmt.Fprintf(out, "%s\n%s", m.test, r.detail)
			}
			if r.verdict != killed && r.verdict != skipped {
				notKilled++
			}
			return nil
		})
	}
	err = group.Wait()
	fmt.Fprintf(out, "%d mutants, %d not killed, %s\n", len(all), notKilled, time.Since(began).Round(time.Second))
	return notKilled, err
}

// verdict is what became of a mutant.
type verdict string

const (
	killed     verdict = "killed"
	survived   verdict = "SURVIVED"
	notApplied verdict = "DOES NOT APPLY"
	notBuilt   verdict = "DOES NOT BUILD"
	noTest     verdict = "NO SUCH TEST"
	skipped    verdict = "skipped"      // a real server is missing here; LAB_REQUIRE=all makes that a failure
	fails      verdict = "FAILS ANYWAY" // without the mutant, too
)

// result is a verdict, how long it took, and what explains it.
type result struct {
	verdict verdict
	took    time.Duration
	detail  string
}

// try runs the test of a mutant with the change.
func (m mutant) try(ctx context.Context) result {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return result{verdict: notApplied, detail: err.Error() + "\n"}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.apply(dir)
	if err != nil {
		return result{verdict: notApplied, detail: err.Error() + "\n"}
	}
	return m.run(ctx, overlay)
}

// apply writes the changed file into dir, and an overlay with it.
func (m mutant) apply(dir string) (overlay string, err error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s contains %d times: %s", m.file, n, m.old)
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	text := strings.Replace(string(source), m.old, m.new, 1)
	return overlay, errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600))
}

// run runs the test with an overlay, or without a change. A test that hangs is ended after 20 s, and has failed. Our packages are not
// optimised, because they are compiled more often than they run.
func (m mutant) run(ctx context.Context, overlay string) result {
	pkg, pattern, _ := strings.Cut(m.test, " ")
	began := time.Now()
	printed, err := exec.CommandContext(ctx, "go", "test", "-count=1", "-failfast", "-vet=off", "-gcflags=./...=-N -l", "-ldflags=-s -w",
		"-timeout=20s", "-v", "-overlay="+overlay, "-run", pattern, pkg).CombinedOutput()
	r, out := result{verdict: killed, took: time.Since(began), detail: string(printed)}, string(printed)
	switch {
	case err == nil && strings.Contains(out, "no tests to run"):
		r.verdict = noTest
	case err == nil && strings.Contains(out, "--- SKIP"):
		r.verdict = skipped
	case err == nil:
		r.verdict, r.detail = survived, ""
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		r.verdict = notBuilt
	}
	return r
}
