//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
)

// inContainers are the pages whose lines a participant types beside a lab in containers, in this order: the shop wants a fresh one.
var inContainers = []string{
	"docs/workshop.md", "docs/shop.md", "docs/cache.md", "docs/ratelimit.md", "loadtest/README.md", "docs/compose.md",
	"docs/shared-machine.md", "docs/trainer.md", "docs/metrics.md",
}

// notInContainers are lines of these pages that this test leaves out, and why. They are the beginnings of lines.
var notInContainers = map[string]string{
	"docker compose --profile load pull":                "it needs a registry",
	"docker compose run --rm k6 run -e ALGORITHM=r1":    "it belongs to the twelve instances",
	"docker compose run --rm -e RATE=50 -e DURATION=2m": "two minutes",
	"k6 run -e OPERATION=rates":                         "two minutes",
	"loadtest/jmeter/jmeter -t":                         "a window",
	"docker compose down":                               "it comes last",
	"./app lab":                                         "it needs no containers",
}

// exits are what does not end with 0.
var exits = map[string]int{"k6 run -e ALGORITHM=r1 loadtest/k6/ratelimit.js": 99}

// typed says which lines need the containers.
var typed = regexp.MustCompile(
	`^(docker compose|curl|k6 run|loadtest/jmeter/jmeter|redis-cli|echo BACKENDS|\./app|go run \./cmd/app (up|burst)) `)

// participant is a lab of its own in a checkout of its own, on a machine that several share.
type participant struct {
	t        *testing.T
	number   int
	topology string
	dir      string
	ports    *strings.Replacer // from a page's ports to those of this lab
}

// The lines of the pages work as they stand there, in the order of the page, over each topology. Each topology is the lab of another
// participant, and at least two of them use this machine simultaneously.
func TestPagesInContainers(t *testing.T) {
	testenv.Check(t, testenv.Containers)
	topologies, err := compose.Topologies("../..")
	if err != nil || len(topologies) != 4 {
		t.Fatal(topologies, err)
	}
	for i, topology := range topologies {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			p := joined(t, 31+i, topology)
			for _, name := range inContainers {
				for _, line := range commandLines(page(t, name)) {
					if typed.MatchString(line) && leftOut(line) == "" && p.concerns(line) {
						p.types(name, line)
					}
				}
			}
			if topology == "sentinel" {
				p.breaksTheMaster()
			}
			p.types("docs/shared-machine.md", "docker compose down")
			mine := " -q --filter label=com.docker.compose.project=" + p.project()
			if left := p.runs("docker ps -a" + mine + "; docker network ls" + mine); left != "" {
				t.Errorf("down leaves %s", left)
			}
		})
	}
}

func leftOut(line string) string {
	for beginning, why := range notInContainers {
		if strings.HasPrefix(line, beginning) {
			return why
		}
	}
	return ""
}

// joined runs the block of docs/shared-machine.md for a participant, with the topology as the only addition.
func joined(t *testing.T, number int, topology string) *participant {
	p := &participant{t: t, number: number, topology: topology, dir: t.TempDir()}
	t.Cleanup(func() { // also after a failure
		down := exec.Command("docker", "compose", "-p", p.project(), "down", "--remove-orphans", "--volumes")
		if out, err := down.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all := blocks(page(t, "docs/shared-machine.md"))
	i := slices.IndexFunc(all, func(block string) bool { return strings.Contains(block, "PATH-OF-THE-TRAINERS-CHECKOUT") })
	own := strings.NewReplacer("PATH-OF-THE-TRAINERS-CHECKOUT", root, "locklab-7", p.project(),
		"participant 7", "participant "+strconv.Itoa(number),
		"docker compose up -d --wait  ", "echo TOPOLOGY="+topology+" >>.env && docker compose up -d --wait  ")
	block := own.Replace(all[i])
	if !strings.Contains(block, root) || !strings.Contains(block, "TOPOLOGY") || !strings.Contains(block, p.project()) {
		t.Fatalf("this is no block for a participant: %s", block)
	}
	p.runs("set -e\n" + block)
	p.dir = filepath.Join(p.dir, p.project())
	p.ports = p.published(root)
	// As `make jmeter` would lay it out.
	if err := os.Symlink(filepath.Join(root, "loadtest/jmeter/target"), filepath.Join(p.dir, "loadtest/jmeter/target")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *participant) project() string { return "locklab-" + strconv.Itoa(p.number) }

// published maps the ports of deploy/defaults.env to those of .env, for addresses and for redis-cli's -p.
func (p *participant) published(root string) *strings.Replacer {
	setting := regexp.MustCompile(`(?m)^(\w+_PORTS?)=(\d+)$`)
	own := map[string]string{}
	read := func(file string) [][]string {
		text, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		return setting.FindAllStringSubmatch(string(text), -1)
	}
	for _, s := range read(filepath.Join(p.dir, ".env")) {
		own[s[1]] = s[2]
	}
	var pairs []string
	for _, s := range read(filepath.Join(root, "deploy/defaults.env")) {
		for _, before := range []string{"127.0.0.1:", "redis-cli -p "} {
			pairs = append(pairs, before+s[2], before+own[s[1]])
		}
	}
	return strings.NewReplacer(pairs...)
}

// concerns reports whether this topology has the servers of a line.
func (p *participant) concerns(line string) bool {
	if !strings.Contains(line, "redis-cli ") { // or docker compose exec … redis-cli
		return true
	}
	port := map[string]string{"single": "6390", "master-slave": "6401", "sentinel": "26401", "cluster": "7101"}[p.topology]
	return strings.Contains(line, "-p "+port+" ")
}

// types runs a line, as docs/shared-machine.md changes it for one machine that all share.
func (p *participant) types(page, line string) {
	p.t.Helper()
	base := "http://127.0.0.1:" + strconv.Itoa(15000+100*p.number)
	shown := strings.Replace(line, "go run ./cmd/app", "./app", 1)
	shown = p.ports.Replace(shown)
	shown = strings.TrimSuffix(shown, "&&") // the line after it stands for itself
	switch {
	case strings.HasPrefix(shown, "k6 run"):
		shown = strings.Replace(shown, "k6 run", "k6 run --quiet -e BASE_URL="+base, 1)
	case strings.HasPrefix(shown, "loadtest/jmeter/jmeter"):
		shown += " -Jport=" + strings.TrimPrefix(base, "http://127.0.0.1:")
	case strings.HasPrefix(shown, "curl"):
		shown += " -s -w ' %{http_code}'"
	}
	began := time.Now()
	out, code := p.shell(shown)
	p.t.Logf("%5.1f s  %s", time.Since(began).Seconds(), shown)
	if code != exits[line] || strings.HasPrefix(line, "curl") && !usable.MatchString(out) {
		p.t.Errorf("%s: %s\nends with %d, want %d:\n%s", page, shown, code, exits[line], out)
	}
}

// usable is the status of an answer that a page is about: done, or refused by the lab's rules.
var usable = regexp.MustCompile(` (2\d\d|409|422|423|429)$`)

// breaksTheMaster types the lines of the trainer's table.
func (p *participant) breaksTheMaster() {
	lines := regexp.MustCompile("right: `(docker [^`]+)`").FindAllStringSubmatch(page(p.t, "docs/trainer.md"), -1)
	if len(lines) != 2 {
		p.t.Fatalf("the trainer's table has %q", lines)
	}
	own := strings.NewReplacer("locklab-", p.project()+"-", "-p 26401", fmt.Sprintf("-p %d", 15031+100*p.number))
	first := p.runs(own.Replace(lines[1][1]))
	p.runs(own.Replace(lines[0][1]))
	testenv.Eventually(p.t, "another server is the master", func() bool {
		return p.runs(own.Replace(lines[1][1])) != first
	})
}

// runs runs lines that must succeed, and returns what they print.
func (p *participant) runs(lines string) string {
	p.t.Helper()
	out, code := p.shell(lines)
	if code != 0 {
		p.t.Fatalf("%s\nends with %d:\n%s", lines, code, out)
	}
	return out
}

func (p *participant) shell(lines string) (out string, code int) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", lines)
	cmd.Dir, cmd.WaitDelay = p.dir, time.Second
	said, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(said), cmd.ProcessState.ExitCode()
}
