package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/testenv"
)

// labRun runs experiments. It repeats an inconclusive run, up to three times, because the machine may be busy.
func labRun(t *testing.T, args ...string) output {
	t.Helper()
	args = append([]string{"lab", "run"}, args...)
	got := app(t.Context(), args...)
	for again := 1; again < 3 && got.code == exitInconclusive; again++ {
		t.Log(got.err)
		got = app(t.Context(), args...)
	}
	return got
}

// The report of a store covers the newest run of each experiment. It draws the runs of the last command and links the reports of the
// others.
func TestReportOfTheStore(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	store := t.TempDir()
	for i, ids := range [][]string{{"L10", "L03"}, {"L03"}, {"L01"}} {
		args := append([]string{"lab", "run", "--embedded", "--trials=1", "--out=" + store, fmt.Sprintf("--seed=%d", 7000+i)}, ids...)
		got := app(t.Context(), args...)
		judged := got.code == exitOK || got.code == exitInconclusive // inconclusive on a busy machine
		if !judged || !strings.Contains(got.out, "Report:  "+filepath.Join(store, lab.ReportFile)) {
			t.Fatalf("exit %d: %s%s", got.code, got.err, got.out)
		}
	}
	text, err := os.ReadFile(filepath.Join(store, lab.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	link := func(id string) string {
		run, _ := os.Readlink(filepath.Join(store, id, "latest"))
		return fmt.Sprintf(`href="%s/%s/report.html"`, id, run)
	}
	last := -1
	for _, part := range []string{
		link("L03-foreign-unlock"), link("L10-set-without-nx"), `<details class="run" id="L01-no-expiry"`, "--seed 7002",
	} {
		at := strings.Index(string(text), part)
		if at < last || at < 0 {
			t.Errorf("%s is at %d, want it after %d", part, at, last)
		}
		last = at
	}
	own, err := os.ReadFile(filepath.Join(store, "L03-foreign-unlock", "latest", lab.ReportFile))
	if err != nil || strings.Contains(string(own), "L10-set-without-nx") || !strings.Contains(string(own), "--seed 7001") {
		t.Errorf("the report of the run has other runs, or is not of the newest one: %v", err)
	}
}

// The command that repeats one experiment of a group uses as many trials as the group did.
func TestReproduce(t *testing.T) {
	usual, seldom := lab.Experiment{ID: "X01"}, lab.Experiment{ID: "X02", Schedule: lab.Schedule{Trials: 1}}
	for _, c := range []struct {
		command            labRunCommand
		all, usual, seldom string
	}{
		{labRunCommand{selection: selection{Quick: true}}, "--quick --seed 7", "X01 --trials 1 --seed 7", "X02 --seed 7"},
		{
			labRunCommand{selection: selection{Quick: true}, Trials: new(3)},
			"--quick --trials 3 --seed 7", "X01 --seed 7", "X02 --trials 3 --seed 7",
		},
		{labRunCommand{selection: selection{All: true}}, "--all --seed 7", "X01 --seed 7", "X02 --seed 7"},
		{
			labRunCommand{selection: selection{IDs: []string{"X01", "X02"}}, Trials: new(1), Embedded: true},
			"X01 X02 --trials 1 --embedded --seed 7",
			"X01 --trials 1 --embedded --seed 7", "X02 --embedded --seed 7",
		},
		{
			labRunCommand{selection: selection{All: true}, On: onDocker, checkout: checkout{Dir: ".."}},
			"--all --on docker --dir .. --seed 7",
			"X01 --on docker --dir .. --seed 7", "X02 --on docker --dir .. --seed 7",
		},
		{
			labRunCommand{selection: selection{All: true}, On: onDocker, checkout: checkout{Dir: "."}},
			"--all --on docker --seed 7",
			"X01 --on docker --seed 7", "X02 --on docker --seed 7",
		},
	} {
		seed := uint64(7)
		c.command.Seed = &seed
		o, err := c.command.options()
		if err != nil {
			t.Fatal(err)
		}
		for want, got := range map[string]string{
			c.all: c.command.reproduce(seed), c.usual: c.command.reproduceOne(usual, o),
			c.seldom: c.command.reproduceOne(seldom, o),
		} {
			if !strings.HasSuffix(got, " lab run "+want) {
				t.Errorf("%q does not end in %q", got, want)
			}
		}
	}
}
