// Command imports draws which groups of packages import which, and counts their lines, in docs/decisions/0001-packages-and-imports.md. It
// fails when an import points up, so groups never import each other in a circle.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"locklab/internal/marked"
)

const (
	page   = "docs/decisions/0001-packages-and-imports.md"
	module = "locklab/"
)

// groups import only groups further down. A pattern is a regular expression for the first folders of a package; as in .golangci.yml, a $
// at its end means this package, and none below it.
var groups = [...]struct{ name, about, pattern string }{
	{"cmd/app", "the program", `cmd/app`},
	{"tools", "write pages, run clusters", `tools`},
	{"test helpers", "testenv, trialtest, locktest", `lab/(testenv|trialtest)|lockstrategy/locktest`},
	{"examples", "programs to try", `examples`},
	{"handlers", "HTTP", `handlers`},
	{"lab/live", "the live page", `lab/live`},
	{"lab/report", "what shows a run", `lab/report`},
	{"lab/claims", "what breaks a lock", `lab/claims`},
	{"lab/scorecard", "any program with a lock", `lab/scorecard`},
	{"lab/clients", "clients of the locks", `lab/clients$`},
	{"lab/clients/protocol", "JSON lines", `lab/clients/protocol`},
	{"lab/burst", "HTTP load; containers, watch", `lab/(burst|containers|watch)`},
	{"lab", "the engine", `lab$`},
	{"lab/servers", "servers and their faults; doctor", `lab/(servers|doctor)`},
	{"lab/explore", "one command at a time", `lab/explore`},
	{"lab/history", "events, violations", `lab/history`},
	{"topology", "connections to servers", `topology`},
	{"versions", "v0, v1 and so on", `versions`},
	{"lockstrategy/*lock", "the locks; localqueue", `lockstrategy/(\w+lock|localqueue)`},
	{"lockstrategy/session", "what locks share; preflight", `lockstrategy/(session|preflight)`},
	{"lockstrategy", "the contract", `lockstrategy$`},
	{"scenarios", "pview, order, systems", `pview|order|systems`},
	{"internal", "helpers", `internal`},
}

// pkg is a package as go list prints it.
type pkg struct {
	ImportPath, Dir                  string
	GoFiles, IgnoredGoFiles, Imports []string
}

// A graph says of each group, by its index, which groups it imports.
type graph [len(groups)][len(groups)]bool

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "imports:", err)
		os.Exit(1)
	}
}

func write() error {
	packages, err := list()
	if err != nil {
		return err
	}
	all, err := graphOf(packages)
	if err != nil {
		return err
	}
	rows, err := rowsOf(packages, all)
	if err != nil {
		return err
	}
	table := marked.Table(2, []string{"group", "imports", "packages", "lines of Go without tests"}, rows)
	return marked.UpdateAll(page, map[string]string{"imports": all.reduce().picture(), "groups": table})
}

// list returns the packages of this module that have more than tests, as they are on Linux.
func list() (all []pkg, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,Imports", "./...")
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOOS=linux"), os.Stderr
	out, err := cmd.Output()
	for d := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var p pkg
		if err = d.Decode(&p); err == nil && len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return all, nil
}

func groupOf(path string) int {
	for i, g := range groups {
		if regexp.MustCompile("^" + module + "(" + g.pattern + ")(/|$)").MatchString(path) {
			return i
		}
	}
	return -1
}

// graphOf finds every circle of groups, because one of its imports points up.
func graphOf(packages []pkg) (all graph, err error) {
	for _, p := range packages {
		from := groupOf(p.ImportPath)
		if from < 0 {
			return all, fmt.Errorf("package %s is in no group: add it to one in tools/imports/main.go", p.ImportPath)
		}
		for _, path := range p.Imports {
			to := groupOf(path) // -1 of a package that is not ours
			if 0 <= to && to < from {
				return all, fmt.Errorf("%s imports %s, so group %s imports %s, which is above it: move code to another package, or, "+
					"if that import makes no circle, a group in tools/imports/main.go", p.ImportPath, path, groups[from].name, groups[to].name)
			}
			if to > from {
				all[from][to] = true
			}
		}
	}
	return all, nil
}

// reduce leaves out the imports that others imply: of a → b, b → c and a → c, the last.
func (g graph) reduce() (reduced graph) {
	var below graph // with what is imported indirectly
	for from := range slices.Backward(g[:]) {
		for to, imported := range g[from] { // a group between the two has a smaller index than to, so it came before
			if !imported || below[from][to] {
				continue
			}
			reduced[from][to], below[from][to] = true, true
			for i := range below[to] {
				below[from][i] = below[from][i] || below[to][i]
			}
		}
	}
	return reduced
}

// namesOf returns the groups that a group imports.
func (g graph) namesOf(from int) (names []string) {
	for to, imported := range g[from] {
		if imported {
			names = append(names, groups[to].name)
		}
	}
	return names
}

// picture is a flowchart of Mermaid.
func (g graph) picture() string {
	id := strings.NewReplacer("/", "_", "*", "", " ", "_").Replace
	var nodes, arrows strings.Builder
	for from, group := range groups {
		fmt.Fprintf(&nodes, "    %s[\"%s: %s\"]\n", id(group.name), group.name, group.about)
		for _, to := range g.namesOf(from) {
			fmt.Fprintf(&arrows, "    %s --> %s\n", id(group.name), id(to))
		}
	}
	return "```mermaid\nflowchart TD\n" + nodes.String() + arrows.String() + "```\n"
}

func rowsOf(packages []pkg, all graph) (rows [][]string, err error) {
	var count, lines [len(groups)]int
	for _, p := range packages {
		group := groupOf(p.ImportPath)
		count[group]++
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			if !strings.HasSuffix(name, "_test.go") {
				lines[group] += bytes.Count(text, []byte("\n"))
			}
		}
	}
	for i, group := range groups {
		rows = append(rows, []string{group.name, strings.Join(all.namesOf(i), ", "), fmt.Sprint(count[i]), fmt.Sprint(lines[i])})
	}
	return rows, nil
}
