package main

import (
	"fmt"
	"slices"
	"strings"

	"locklab/experiments"
)

// command repeats all of it.
func (c *labRunCommand) command(seed uint64) string {
	words := slices.Clone(c.IDs)
	for _, flag := range []struct {
		given bool
		text  string
	}{{c.All, "--all"}, {c.Quick, "--quick"}, {c.Article != "", "--article " + c.Article}} {
		if flag.given {
			words = append(words, flag.text)
		}
	}
	return c.again(words, c.Trials, seed)
}

// commandOf repeats the run of one experiment, which may have been chosen by a flag that changes how often its arms run.
func (c *labRunCommand) commandOf(e experiments.Experiment, o experiments.Options) string {
	trials := o.TrialsOf(e)
	if trials == (experiments.Options{}).TrialsOf(e) {
		trials = 0
	}
	return c.again([]string{e.ID}, trials, o.Seed)
}

// again runs what is chosen as it was run; with 0 trials, as often as is each experiment's own.
func (c *labRunCommand) again(chosen []string, trials int, seed uint64) string {
	words := append([]string{self(), "lab", "run"}, chosen...)
	if trials > 0 {
		words = append(words, fmt.Sprintf("--trials %d", trials))
	}
	if c.Embedded {
		words = append(words, "--embedded")
	}
	if c.On == onDocker {
		words = append(words, "--on docker")
		if c.Dir != "." {
			words = append(words, "--dir "+c.Dir)
		}
	}
	return strings.Join(append(words, fmt.Sprintf("--seed %d", seed)), " ")
}
