// Package doctor checks before a workshop whether this machine can run the lab, and says for each problem what to do.
//
// What is NOT guaranteed: that the lab runs where the doctor finds no problem. It changes and starts no container, so it cannot know
// whether one would run. It reports one moment: a port may be taken a second later. In WSL it sees no ports of Windows.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Lab is what the doctor must know of the lab.
type Lab struct {
	Dir     string   // where docker-compose.yml is
	Err     error    // why the files there cannot be read; then only Dir is set, too
	Project string   // name of the Compose project
	Ports   []Port   // published on this machine, in every topology
	Images  []string // of every service
	Subnet  string   // the addresses of the lab's network, such as 10.66.6.0/24
}

// Port is published by a service on this machine's loopback address.
type Port struct {
	Service string
	Number  int
}

// Check examines one thing. --skip takes its name.
type Check struct {
	Name string
	Run  func(ctx context.Context) []Result
}

// Result is one line of what a check found.
type Result struct {
	Check string `json:"check"`
	Name  string `json:"name"` // of the line: the check's, or "port 8000"
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what solves the problem
}

func ok(found string) []Result          { return []Result{{OK: true, Found: found}} }
func problem(found, do string) []Result { return []Result{{Found: found, Do: do}} }

// machine is what the checks examine.
type machine struct {
	lab      Lab
	run      command
	registry string
}

// Checks returns all checks in the order in which they are printed. When lab.Err is set, those that need the files are left out; the
// check "files" says so.
func Checks(lab Lab) []Check {
	m := machine{lab, execute, dockerHub}
	checks := []Check{{"docker", m.docker}, {"compose", m.compose}, {"files", m.files}}
	if lab.Err == nil {
		checks = append(checks, Check{"images", m.images}, Check{"ports", m.ports}, Check{"subnet", m.subnet})
	}
	return append(checks, Check{"memory", m.memory}, Check{"redis-server", m.redis})
}

// Names returns the names of all checks.
func Names() []string {
	var names []string
	for _, c := range Checks(Lab{}) {
		names = append(names, c.Name)
	}
	return names
}

// Run runs all checks concurrently, for at most about 20 seconds, and returns their results in the order of the checks.
func Run(ctx context.Context, checks []Check) []Result {
	results := make([][]Result, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() {
			results[i] = check.Run(ctx)
			for j := range results[i] {
				r := &results[i][j]
				r.Check, r.Name = check.Name, cmp.Or(r.Name, check.Name)
			}
		})
	}
	all.Wait()
	return slices.Concat(results...)
}

// Problems counts the results that are not ok.
func Problems(results []Result) int {
	n := 0
	for _, r := range results {
		if !r.OK {
			n++
		}
	}
	return n
}

// Text formats the results for people. fit breaks long lines: taken columns stand before each.
func Text(results []Result, fit func(prose string, taken int) string) string {
	width := 0
	for _, r := range results {
		width = max(width, len(r.Name))
	}
	var text strings.Builder
	for _, r := range results {
		if r.OK {
			fmt.Fprintf(&text, "ok       %-*s  %s\n", width, r.Name, fit(r.Found, width+11))
		} else {
			fmt.Fprintf(&text, "problem  %-*s  %s\n         → %s\n", width, r.Name, fit(r.Found, width+11), fit(r.Do, 11))
		}
	}
	switch n := Problems(results); n {
	case 0:
		text.WriteString("\nAll is ok.\n")
	case 1:
		text.WriteString("\n1 problem.\n")
	default:
		fmt.Fprintf(&text, "\n%d problems.\n", n)
	}
	return text.String()
}
