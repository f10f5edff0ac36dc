package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io"
	"maps"
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
	test     string // a package, a space, and a regular expression for go test -run
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

func (r result) print(out io.Writer, what string) {
	fmt.Fprintf(out, "%-14s %5.1f s  %s\n", r.verdict, r.took.Seconds(), what)
	if r.verdict == killed {
		return
	}
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
		if field == "name" {
			all = append(all, mutant{})
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %d: a mutant begins with its name", i+1)
		}
		m := &all[len(all)-1]
		to := map[string]*string{"name": &m.name, "file": &m.file, "old": &m.old, "new": &m.new, "test": &m.test}[field]
		if to == nil || !ok {
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

// try runs the test of a mutant with the change.
func (m mutant) try(ctx context.Context) result {
	dir, err := os.MkdirTemp("", "mutant-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = m.apply(dir)
	}
	if err != nil {
		return result{verdict: notApplied, detail: err.Error() + "\n"}
	}
	return m.run(ctx, filepath.Join(dir, overlayFile))
}

// overlayFile tells go test to read the changed file.
const overlayFile = "overlay.json"

// apply writes the changed file and the overlay into dir.
func (m mutant) apply(dir string) error {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return fmt.Errorf("%s contains %d times: %s", m.file, n, m.old)
	}
	return overlay(dir, m.file, strings.Replace(string(source), m.old, m.new, 1), m.leaveOut())
}

// overlay writes into dir the changed text of a file, and an overlay with it and with more files.
func overlay(dir, file, changed string, more map[string]string) error {
	original, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	copied := filepath.Join(dir, filepath.Base(file))
	files := map[string]string{original: copied}
	maps.Copy(files, more)
	replace, err := json.Marshal(map[string]any{"Replace": files})
	return errors.Join(err, os.WriteFile(copied, []byte(changed), 0o600), os.WriteFile(filepath.Join(dir, overlayFile), replace, 0o600))
}

// leaveOut lists the files of the external test package, as an overlay without them, when the test is in the package itself. To compile
// them, and what they import, takes most of the time.
func (m mutant) leaveOut() map[string]string {
	files := make(map[string]string)
	pkg, pattern, _ := strings.Cut(m.test, " ")
	name, _, _ := strings.Cut(strings.Trim(pattern, "^$"), "/")
	dir, _ := filepath.Abs(pkg)
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

// run runs the test with an overlay, or without a change. A test that hangs is ended after 20 s, and has failed.
func (m mutant) run(ctx context.Context, overlay string) result {
	pkg, pattern, _ := strings.Cut(m.test, " ")
	return goTest(ctx, pkg, "-timeout=20s", "-v", "-overlay="+overlay, "-run", pattern)
}

// compiled is how tests are compiled. Our packages are not optimised, because they are compiled more often than they run.
var compiled = []string{"-vet=off", "-gcflags=./...=-N -l", "-ldflags=-s -w"}

// goTest runs tests of a package.
func goTest(ctx context.Context, pkg string, flags ...string) result {
	args := append([]string{"test", "-count=1", "-failfast"}, compiled...)
	return judge(exec.CommandContext(ctx, "go", append(append(args, flags...), pkg)...))
}

// judge reads what a run of tests says.
func judge(cmd *exec.Cmd) result {
	began := time.Now()
	printed, err := cmd.CombinedOutput()
	out := string(printed)
	r := result{took: time.Since(began)}
	switch {
	case err == nil && strings.Contains(out, "no tests to run"):
		r.verdict = noTest
	case err == nil && strings.Contains(out, "--- SKIP"):
		r.verdict = skipped
	case err == nil:
		r.verdict = survived
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		r.verdict, r.detail = notBuilt, out
	default:
		r.verdict, r.detail = killed, out
	}
	return r
}
