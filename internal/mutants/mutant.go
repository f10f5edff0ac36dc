package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mutant is one change, and the test that must fail with it.
type mutant struct {
	name     string
	file     string // below the root of the module
	old, new string // old occurs once in the file
	test     test
}

// test is a package and a regular expression for go test -run.
type test struct{ pkg, pattern string }

func (t test) String() string { return t.pkg + " " + t.pattern }

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

func (r result) print(out io.Writer, what string) {
	fmt.Fprintf(out, "%-14s %5.1f s  %s\n", r.verdict, r.took.Seconds(), what)
	for line := range strings.Lines(r.detail) {
		fmt.Fprint(out, "        ", line)
	}
}

// parse reads a list. Its format is explained at the head of mutants.txt.
func parse(list string) (all []mutant, err error) {
	for i, line := range strings.Split(list, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field, value, ok := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if field != "name" && len(all) == 0 {
			return nil, fmt.Errorf("line %d: a mutant begins with its name", i+1)
		}
		switch field {
		case "name":
			all = append(all, mutant{name: value})
		case "file":
			all[len(all)-1].file = value
		case "old":
			all[len(all)-1].old = value
		case "new":
			all[len(all)-1].new = value
		case "test":
			pkg, pattern, _ := strings.Cut(value, " ")
			all[len(all)-1].test = test{pkg, pattern}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("line %d: %q is not name, file, old, new or test, followed by a colon and a space", i+1, line)
		}
	}
	for _, m := range all {
		if m.file == "" || m.old == "" || m.old == m.new || m.test.pattern == "" {
			return nil, fmt.Errorf("%q lacks its file, what is old or new, or the package and pattern of its test", m.name)
		}
	}
	return all, nil
}

// try runs the test of a mutant with the change.
func (m mutant) try(ctx context.Context) result {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return result{verdict: notApplied, detail: err.Error() + "\n"}
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return result{verdict: notApplied, detail: fmt.Sprintf("%s contains %d times: %s\n", m.file, n, m.old)}
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return result{verdict: notApplied, detail: err.Error() + "\n"}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir, strings.Replace(string(source), m.old, m.new, 1))
	if err != nil {
		return result{verdict: notApplied, detail: err.Error() + "\n"}
	}
	return m.test.run(ctx, overlay)
}

// overlay writes the changed file, and the file that tells go test to read it, into dir.
func (m mutant) overlay(dir, changed string) (string, error) {
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	copied, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	files := m.test.leaveOut()
	files[original] = copied
	replace, err := json.Marshal(map[string]any{"Replace": files})
	return overlay, errors.Join(err, os.WriteFile(copied, []byte(changed), 0o600), os.WriteFile(overlay, replace, 0o600))
}

// leaveOut lists the files of the external test package, as an overlay without them, when the test is in the package itself. To compile
// them, and what they import, takes most of the time.
func (t test) leaveOut() map[string]string {
	files := make(map[string]string)
	name, _, _ := strings.Cut(strings.Trim(t.pattern, "^$"), "/")
	dir, _ := filepath.Abs(t.pkg)
	p, err := build.ImportDir(dir, 0)
	if err == nil && slices.ContainsFunc(p.TestGoFiles, func(file string) bool {
		source, _ := os.ReadFile(filepath.Join(dir, file))
		return bytes.Contains(source, []byte("func "+name+"("))
	}) {
		for _, external := range p.XTestGoFiles {
			files[filepath.Join(dir, external)] = ""
		}
	}
	return files
}

// run runs a test, with an overlay if there is one. A test that hangs is ended after 20 s, and has failed. Our packages are not
// optimised, because they are compiled more often than they run.
func (t test) run(ctx context.Context, overlay string) result {
	args := []string{"test", "-count=1", "-vet=off", "-gcflags=./...=-N -l", "-ldflags=-s -w", "-failfast", "-timeout=20s", "-v",
		"-run", t.pattern}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	began := time.Now()
	printed, err := exec.CommandContext(ctx, "go", append(args, t.pkg)...).CombinedOutput()
	out := string(printed)
	r := result{took: time.Since(began)}
	switch {
	case err == nil && strings.Contains(out, "no tests to run"):
		r.verdict, r.detail = noTest, t.String()+"\n"
	case err == nil && strings.Contains(out, "--- SKIP"):
		r.verdict, r.detail = skipped, t.String()+"\n"
	case err == nil:
		r.verdict, r.detail = survived, t.String()+"\n"
	case strings.Contains(out, "--- FAIL") || strings.Contains(out, "panic:"):
		r.verdict = killed
	default:
		r.verdict, r.detail = notBuilt, out
	}
	return r
}
