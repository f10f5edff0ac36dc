package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testenv"
)

var (
	fileRow = regexp.MustCompile("(?m)^\\| (`[^|]*`[^|]*) \\| ([^|]*) \\|$")
	quoted  = regexp.MustCompile("`([^`]+)`")
	name    = regexp.MustCompile(`^(?:\w+\.)?([A-Za-z]\w*)(?:[({].*)?$`)
)

// The names of Go in the tables of CONTRIBUTING are in the files of their rows.
func TestContributingNamesWhatTheCodeHas(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page := read(t, "CONTRIBUTING.md")
	compared := 0
	for _, row := range fileRow.FindAllStringSubmatch(page, -1) {
		source := sources(t, row[1])
		for _, word := range quoted.FindAllStringSubmatch(row[2], -1) {
			found := name.FindStringSubmatch(word[1])
			if source == "" || found == nil {
				continue
			}
			compared++
			if !regexp.MustCompile(`\b` + found[1] + `\b`).MatchString(source) {
				t.Errorf("CONTRIBUTING names %s, and %s has no such name", word[1], row[1])
			}
		}
	}
	if compared < 5 {
		t.Errorf("only %d names were compared", compared)
	}
}

// sources are the Go files that a cell names; empty: they are still to be written, or are no Go.
func sources(t *testing.T, cell string) string {
	var all strings.Builder
	for _, file := range quoted.FindAllStringSubmatch(cell, -1) {
		path := filepath.Join("../..", file[1])
		if info, err := os.Stat(path); err != nil || info.IsDir() || filepath.Ext(path) != ".go" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// Each line of the diagram of the packages is an import.
func TestTheDiagramOfThePackages(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page := read(t, "CONTRIBUTING.md")
	_, diagram, _ := strings.Cut(page, "```mermaid\n")
	diagram, _, _ = strings.Cut(diagram, "```")
	packages := make(map[string][]string) // by the name of their box
	for _, box := range regexp.MustCompile(`(\w+)\["([^":]+)[^"]*"\]`).FindAllStringSubmatch(diagram, -1) {
		packages[box[1]] = strings.Split(box[2], ", ")
	}
	edges := 0
	for line := range strings.Lines(regexp.MustCompile(`\["[^"]*"\]`).ReplaceAllString(diagram, "")) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " --> ")
		for _, one := range strings.Split(to, " & ") {
			for _, of := range packages[one] {
				edges++
				if !imports(t, packages[from], of) {
					t.Errorf("%s --> %s: no import of %s", from, one, of)
				}
			}
		}
	}
	if edges < 15 {
		t.Errorf("only %d edges were compared", edges)
	}
}

// imports reports whether a file of a package, that is no test, imports another one.
func imports(t *testing.T, packages []string, of string) bool {
	t.Helper()
	for _, one := range packages {
		files, err := filepath.Glob(filepath.Join("../..", one, "*.go"))
		below, more := filepath.Glob(filepath.Join("../..", one, "*", "*.go")) // a box is a folder
		if files = append(files, below...); errors.Join(err, more) != nil || len(files) == 0 {
			t.Fatalf("there is no package %s (%v)", one, errors.Join(err, more))
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), "\t\"locklab/"+of+"\"\n") {
				return true
			}
		}
	}
	return false
}

// Every Debian package that a test needs is in the line for Debian.
func TestContributingInstallsWhatTheTestsNeed(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page := read(t, "CONTRIBUTING.md")
	_, line, _ := strings.Cut(page, "\napt-get install -y ")
	line, _, _ = strings.Cut(line, "\nmake test")
	packages := strings.Fields(line)
	for _, need := range testenv.All() {
		if need.Debian != "" && !slices.Contains(packages, need.Debian) {
			t.Errorf("CONTRIBUTING does not install %s", need.Debian)
		}
	}
}

// Each command that writes a page is in the table of commands.
func TestContributingNamesTheCommandsThatWritePages(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page := read(t, "CONTRIBUTING.md")
	makefile := read(t, "Makefile")
	targets := regexp.MustCompile(`(?m)^([a-z]+): ## .*(?:docs/|README)`).FindAllStringSubmatch(makefile, -1)
	for _, target := range targets {
		if !strings.Contains(page, "`make "+target[1]+"`") {
			t.Errorf("CONTRIBUTING does not name make %s", target[1])
		}
	}
	if len(targets) < 8 {
		t.Errorf("only %d targets were compared", len(targets))
	}
}
