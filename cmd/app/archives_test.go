package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"locklab/internal/testenv"
)

// Most of the time of a first build is compilation. A package compiles methods of others, too, if it embeds a client in a type, or
// instantiates a generic type. go-redis's client has 630 methods: they take up to two seconds in each package (docs/decisions/0025).
func TestNoPackageCompilesTheMethodsOfAClient(t *testing.T) {
	testenv.Slow(t)
	const most = 200 // the largest type of ours has 128
	once := map[string]string{"locklab/cache": "github.com/maypok86/otter/v2.(*cache["}
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
		of, all := methods(t, archive)
		for receiver, n := range of {
			limit := most
			if strings.Contains(receiver, "[go.shape.") || strings.HasPrefix(receiver, "github.com/") || strings.HasPrefix(receiver, "go.shape.") {
				limit = 60
			}
			if own, ok := once[path]; n > limit && ok && strings.HasPrefix(receiver, own) {
				seen = true
			} else if n > limit {
				t.Errorf("%s compiles %d methods of %.100s: hide its type behind an interface with the methods that are used", path, n, receiver)
			}
		}
		if path == "locklab/versions" && all > 500 {
			t.Errorf("%s has 150 lines, and %d functions are compiled for it", path, all)
		}
	}
	if checked < 50 || !seen { // otherwise nothing would be found
		t.Fatalf("%d packages were checked, and the methods of otter in cache were seen: %v; go list said %s", checked, seen, out)
	}
}

// notAMethod are closures and wrappers of calls.
var notAMethod = regexp.MustCompile(`\.(func|gowrap|deferwrap)\d+|-range\d+$`)

// methods counts the functions of an archive, and those of each receiver or package.
func methods(t *testing.T, archive string) (of map[string]int, all int) {
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
		all++
		if !notAMethod.MatchString(name) {
			names[strings.TrimSuffix(name, "-fm")] = true
		}
	}
	of = make(map[string]int)
	for name := range names {
		if dot := strings.LastIndex(name, "."); dot > 0 {
			of[name[:dot]]++
		}
	}
	return of, all
}
