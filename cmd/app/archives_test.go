package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// A first build spends most of its time compiling. A package that embeds a client in a type, or instantiates a generic type, compiles the
// methods of that type again. go-redis's client has 630, which take up to two seconds in each package (docs/decisions/0025).
func TestNoPackageCompilesTheMethodsOfAClient(t *testing.T) {
	testenv.Slow(t)
	const most = 200 // our largest type has 128
	allowed := map[string]string{"locklab/systems/cache": "github.com/maypok86/otter/v2.(*cache["}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", ".")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	checked, seen := 0, false
	for line := range strings.Lines(string(out)) {
		path, archive, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(path, "locklab/") {
			continue
		}
		checked++
		perReceiver, total := countMethods(t, archive)
		for receiver, n := range perReceiver {
			limit := most
			if strings.Contains(receiver, "[go.shape.") || strings.HasPrefix(receiver, "github.com/") || strings.HasPrefix(receiver, "go.shape.") {
				limit = 60
			}
			if own, ok := allowed[path]; n > limit && ok && strings.HasPrefix(receiver, own) {
				seen = true
			} else if n > limit {
				t.Errorf("%s compiles %d methods of %.100s: use an interface with only the methods you need", path, n, receiver)
			}
		}
		if path == "locklab/versions" && total > 500 {
			t.Errorf("%s compiles %d functions for 150 lines", path, total)
		}
	}
	if checked < 50 || !seen { // the check itself must work
		t.Fatalf("checked %d packages, saw otter's methods in cache: %v; go list printed %s", checked, seen, out)
	}
}

// notMethod matches closures and call wrappers.
var notMethod = regexp.MustCompile(`\.(func|gowrap|deferwrap)\d+|-range\d+$`)

// countMethods counts the functions in an archive, in total and per receiver or package.
func countMethods(t *testing.T, archive string) (perReceiver map[string]int, total int) {
	out, err := exec.CommandContext(t.Context(), "go", "tool", "nm", archive).Output()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		_, name, isCode := strings.Cut(strings.TrimSpace(line), " T ")
		if !isCode {
			continue
		}
		total++
		if !notMethod.MatchString(name) {
			names[strings.TrimSuffix(name, "-fm")] = true
		}
	}
	perReceiver = make(map[string]int)
	for name := range names {
		if dot := strings.LastIndex(name, "."); dot > 0 {
			perReceiver[name[:dot]]++
		}
	}
	return perReceiver, total
}
