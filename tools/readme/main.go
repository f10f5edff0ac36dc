// Command readme writes into README.md and docs what commands print, each between two markers. So every number there comes from a command.
//
//	rounds  runs the demo 30 times, and saves what was left of each burst in docs/rounds.csv
//	ranges  writes the ranges of docs/rounds.csv into README.md and docs/workshop.md
//	demo    runs the demo once, and writes its output into docs/workshop.md
//	lab     runs the experiments of docs/workshop.md, and writes there what was seen (3 minutes)
//	help    writes the help of each command into docs/cli.md
//
// Without an argument it does all of them, in this order.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab/burst"
)

const (
	rounds   = "30"
	saved    = "docs/rounds.csv"
	workshop = "docs/workshop.md"
)

var jobs = []struct {
	name string
	do   func(app string) error
}{{"rounds", saveRounds}, {"ranges", writeRanges}, {"demo", writeDemo}, {"lab", writeLab}, {"help", writeHelp}}

func main() {
	if err := work(strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func work(chosen string) error {
	dir, err := os.MkdirTemp("", "locklab-readme-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	app := filepath.Join(dir, "app")
	if out, err := exec.Command("go", "build", "-o", app, "./cmd/app").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	done := 0
	for _, job := range jobs {
		if chosen != "" && chosen != job.name {
			continue
		}
		if err := job.do(app); err != nil {
			return fmt.Errorf("%s: %w", job.name, err)
		}
		done++
	}
	if done == 0 {
		return fmt.Errorf("there is no %q; name one of rounds, ranges, demo, lab, help, or nothing for all", chosen)
	}
	return nil
}

func printed(app string, args ...string) ([]byte, error) {
	cmd := exec.Command(app, args...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func saveRounds(app string) error {
	out, err := printed(app, "demo", "--rounds", rounds, "--json")
	// 1 and 2: a verdict that is not "as expected". The ranges are to show that, too.
	if exit := (&exec.ExitError{}); err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 2) {
		return err
	}
	var r burst.Results
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}
	stamp, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	origin := fmt.Sprintf("`app demo --rounds %s` on %s: Redis %s (%s), %s/%s, %d processors, build %s",
		rounds, time.Now().Format(time.DateOnly), r.Topology, r.Redis, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		strings.TrimSpace(string(stamp)))
	return os.WriteFile(saved, encode(origin, r), 0o644)
}

func writeRanges(string) error {
	origin, all, err := load(saved)
	if err != nil {
		return err
	}
	return errors.Join(marked.Update("README.md", "ranges", summary(all)), marked.Update(workshop, "ranges", details(origin, all)))
}

func writeDemo(app string) error {
	out, err := printed(app, "demo")
	if err != nil {
		return err
	}
	return marked.Update(workshop, "demo", "```text\n"+string(out)+"```\n")
}

func writeLab(app string) error {
	store, err := os.MkdirTemp("", "locklab-readme-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(store) }()
	return errors.Join(writeTables(app, store, "lab 45", "L01", "L03", "L05"), writeTables(app, store, "lab 75", "L11"),
		writeTables(app, store, "lab 90", "F01", "F06"))
}

func writeTables(app, store, block string, ids ...string) error {
	var tables []string
	for _, id := range ids {
		run := []string{"lab", "run", id, "--out", store}
		out, err := printed(app, run...)
		if exit := (&exec.ExitError{}); errors.As(err, &exit) && exit.ExitCode() == 2 { // a busy machine has shown nothing
			out, err = printed(app, run...)
		}
		table := verdicts.FindString(string(out)) // above it is the claim, below it where the time went
		if err != nil || table == "" {
			return fmt.Errorf("%s (%v); nothing is written:\n%s", id, err, out) //nolint:errorlint // it may be nil
		}
		tables = append(tables, otherServers.ReplaceAllString(table, ""))
	}
	return marked.Update(workshop, block, "```text\n"+strings.Join(tables, "\n")+"```\n")
}

var (
	verdicts = regexp.MustCompile(`(?m)^ experiment +variant (?:.+\n)+`)
	// The workshop is about Redis. The pages of the experiments have the other servers.
	otherServers = regexp.MustCompile(`(?m)^ {2,}.*\b(?:v(?:[5-9]|\d\d)|database|ZooKeeper|etcd|Memcached)\b.*\n`)

	command = regexp.MustCompile(`(?m)^  ([a-z][a-z0-9]*(?: [a-z]+)?)(?: .*)?$`)
	common  = regexp.MustCompile(`(?m)^ +(-h, --help|--version) .*\n`) // flags of all commands
)

func writeHelp(app string) error {
	list, err := printed(app, "--help")
	if err != nil {
		return err
	}
	_, commands, _ := strings.Cut(string(list), "\nCommands:\n")
	var page strings.Builder
	for _, found := range command.FindAllStringSubmatch(commands, -1) {
		text, err := printed(app, append(strings.Fields(found[1]), "--help")...)
		if err != nil {
			return err
		}
		text = common.ReplaceAll(text, nil)
		fmt.Fprintf(&page, "### app %s\n\n```text\n%s\n```\n\n", found[1], strings.TrimSuffix(strings.TrimSpace(string(text)), "\n\nFlags:"))
	}
	return marked.Update("docs/cli.md", "help", page.String())
}
