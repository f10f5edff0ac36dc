package main

import (
	"strings"
	"testing"

	"locklab/lab"
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
