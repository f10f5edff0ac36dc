package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// module is a small module: a function that adds, an embedded script, and what is tested of them.
var module = map[string]string{
	"go.mod":     "module small\n\ngo 1.24\n",
	"script.lua": "return 1\n",
	"small.go": `package small

import _ "embed"

//go:embed script.lua
var script string

func add(a, b int) int { return a + b }
`,
	"small_test.go": `package small

import (
	"strings"
	"testing"
)

func TestAdd(t *testing.T) {
	if add(1, 2) != 3 {
		t.Error("wrong")
	}
}

func TestScript(t *testing.T) {
	if !strings.Contains(script, "1") {
		t.Error("wrong")
	}
}

func TestNothing(*testing.T) {}
func TestSkipped(t *testing.T) { t.Skip("a server is missing") }
func TestFails(t *testing.T) { t.Error("always") }
`,
}

const list = `# A comment.

name: Go
file: small.go
old: a + b
new: a - b
test: . TestAdd

name: a script
file: script.lua
old: return 1
new:
test: . TestScript

name: nobody looks
file: small.go
old: a + b
new: a - b
test: . TestNothing

name: twice
file: small.go
old: script
new: text
test: . TestAdd

name: does not compile
file: small.go
old: a + b
new: a + c
test: . TestAdd

name: no such test
file: small.go
old: a + b
new: a - b
test: . TestMissing

name: skipped
file: small.go
old: a + b
new: a - b
test: . TestSkipped

name: fails anyway
file: small.go
old: a + b
new: a - b
test: . TestFails
`

func TestRun(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range module {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	notKilled, err := run(t.Context(), &out, all)
	if err != nil || notKilled != 5 {
		t.Errorf("%d were not killed (%v), want 5", notKilled, err)
	}
	for name, want := range map[string]verdict{
		"Go": killed, "a script": killed, "nobody looks": survived, "twice": notApplied, "does not compile": notBuilt,
		"no such test": noTest, "skipped": skipped, "fails anyway": fails,
	} {
		if !regexp.MustCompile(`(?m)^` + string(want) + ` +\d+\.\d s  ` + name + `$`).MatchString(out.String()) {
			t.Errorf("%q is not reported as %s", name, want)
		}
	}
	if t.Failed() {
		t.Log("\n" + out.String())
	}
	for name, text := range module { // nothing is changed in place
		if left, err := os.ReadFile(name); err != nil || string(left) != text {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
}

// The list of the repository must apply; what a test says of each mutant takes longer, and `make mutants` runs it.
func TestListApplies(t *testing.T) {
	all, err := load("mutants.txt", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		source, err := os.ReadFile(filepath.Join("../..", m.file))
		if err != nil || strings.Count(string(source), m.old) != 1 {
			t.Errorf("%s: %s does not contain %q once (%v)", m.name, m.file, m.old, err)
		}
		if pkg, name, _ := strings.Cut(m.test, " "); !hasTest(t, pkg, name) {
			t.Errorf("%s: no test in %s is called %s", m.name, pkg, name)
		}
	}
}

// hasTest reports whether a package has a test that go test -run=name would run, its subtests not looked at.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	top, _, _ := strings.Cut(name, "/")
	wanted := regexp.MustCompile(top)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
			if wanted.MatchString(found[1]) {
				return true
			}
		}
	}
	return false
}
