package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
)

// Each kind of change, in a file that has one place for each. The text of several lines, imports and constants in strings stay.
func TestChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kinds.go")
	source := `package kinds

import _ "embed"

func kinds(a, b int, ok bool) (int, error) {
	if !ok && a < b {
		return 7, failure()
	}
	switch {
	case ok:
		a--
	}
	for call("3",
		true) {
		continue
	}
	defer call("", ok)
	a = b
	return a, nil
}

func failure() error {
	return func() error { return errSome }()
}
`
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := changes("./kinds", file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range found {
		got = append(got, strings.TrimSpace(c.before)+" => "+strings.TrimSpace(c.after))
		changed := strings.Split(c.apply(source), "\n")
		lines := strings.Split(source, "\n")
		if lines[c.line-1] != c.before || changed[c.line-1] != c.after {
			t.Errorf("%d: %q was replaced by %q, want %q by %q", c.line, lines[c.line-1], changed[c.line-1], c.before, c.after)
		}
		if !slices.Equal(slices.Delete(changed, c.line-1, c.line), slices.Delete(lines, c.line-1, c.line)) {
			t.Errorf("more than line %d was changed", c.line)
		}
	}
	want := []string{
		"if !ok && a < b { => if !(!ok && a < b) {",
		"if !ok && a < b { => if !ok || a < b {",
		"if !ok && a < b { => if ok && a < b {",
		"if !ok && a < b { => if !ok && a <= b {",
		"if !ok && a < b { => if !ok && a >= b {",
		"return 7, failure() => return 8, failure()",
		"return 7, failure() => return 7, nil",
		"case ok: => case !(ok):",
		"a-- => a++",
		"a-- => ",
		"true) { => false) {",
		"continue => ",
		`defer call("", ok) => `,
		"a = b => ",
		"return func() error { return errSome }() => return nil",
		"return func() error { return errSome }() => return func() error { return nil }()",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The module has four changes that compile: + is -, the loop ends never, and two that its test does not notice.
var drawn = map[string]string{
	"go.mod": "module small\n\ngo 1.24\n",
	"small.go": `package small

func add(a, b int) (sum int) {
	sum = a + b
	for i := a; i < a; i++ {
		sum++
	}
	return sum
}

func unused(a, b string) string { return a + b }
`,
	"small_test.go": `package small

import "testing"

func TestAdd(t *testing.T) {
	if add(1, 2) != 3 {
		t.Error("wrong")
	}
	if !testing.Short() && add(0, 0) != 0 {
		t.Error("wrong")
	}
}
`,
}

func TestDraw(t *testing.T) {
	testenv.Slow(t)
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range drawn {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	d := draw{seed: 1, n: 100, packages: []string{"."}, slack: time.Second}
	if err := d.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		// The loop is not entered: what it does is not noticed, nor how it ends.
		"small.go:5\n        before: for i := a; i < a; i++ {\n        after:  for i := a; i < a; i-- {\n",
		"small.go:6\n        before: sum++\n        after:  sum--\n",
		"small.go:6\n        before: sum++\n        after:  (nothing)\n",
		"seed 1: 4 of 7 changes were noticed, 57 %; 1 more did not compile; ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log("\n" + out.String())
	}
	for name, text := range drawn { // nothing is changed in place
		if left, err := os.ReadFile(name); err != nil || string(left) != text {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
}

// A test that fails anyway would notice everything.
func TestDrawOfAFailingPackage(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range drawn {
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "!= 3", "== 3")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := draw{seed: 1, n: 1, packages: []string{"."}, slack: time.Second}
	if err := d.run(t.Context(), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "its tests fail without a change") {
		t.Errorf("got %v, want an error that says that its tests fail without a change", err)
	}
}

// The same seed draws the same changes, and another one others.
func TestDrawIsRepeatable(t *testing.T) {
	first := func(seed uint64) (all []change) {
		all, err := (&draw{seed: seed, packages: []string{"../../internal/tables", "../mutants"}}).changes()
		if err != nil {
			t.Fatal(err)
		}
		return all[:20]
	}
	if !slices.Equal(first(1), first(1)) {
		t.Error("seed 1 draws other changes the second time")
	}
	if slices.Equal(first(1), first(2)) {
		t.Error("seeds 1 and 2 draw the same changes")
	}
}
