package main

import (
	"errors"
	"fmt"

	"locklab/experiments"
)

// labResult is what all experiments came to; --json prints it.
type labResult struct {
	Command string              `json:"command"` // that repeats it
	Seed    uint64              `json:"seed"`
	Redis   string              `json:"redis"`
	Build   string              `json:"build"`
	Runs    []*labRun           `json:"runs"`
	LeftOut []string            `json:"left_out,omitempty"` // they run elsewhere only
	Verdict experiments.Verdict `json:"verdict"`            // the worst
	Took    float64             `json:"took_s"`
	Report  string              `json:"report,omitempty"` // of all of it, as a page

	elsewhere string // where those that are left out run
}

// labRun is a run of an experiment, and how it is judged.
type labRun struct {
	experiments.Judgement
	Claim    string  `json:"claim,omitempty"`
	Command  string  `json:"command,omitempty"` // that repeats it
	Took     float64 `json:"took_s"`
	Saved    string  `json:"saved,omitempty"` // the run's folder
	NotSaved string  `json:"not_saved,omitempty"`

	experiment experiments.Experiment
	record     experiments.Record
}

func newRun(e experiments.Experiment, r experiments.Record, j experiments.Judgement) *labRun {
	return &labRun{Judgement: j, Claim: r.Claim, Command: r.Command, Took: r.Took.Seconds(), experiment: e, record: r}
}

// notRun stands for an experiment that an interruption came before.
func notRun(e experiments.Experiment) *labRun {
	return &labRun{
		Judgement: experiments.Judgement{Experiment: e.ID, Why: "it was not begun", Void: true}, Claim: e.Claim, experiment: e,
	}
}

// sumUp finds the worst verdict.
func (r *labResult) sumUp() {
	var all []experiments.Verdict
	for _, run := range r.Runs {
		all = append(all, run.Verdict)
	}
	r.Verdict = experiments.Worst(all...)
}

// notSaved says which runs were judged and could not be saved.
func (r *labResult) notSaved() (err error) {
	for _, run := range r.Runs {
		if run.NotSaved != "" {
			err = errors.Join(err, fmt.Errorf("%s is judged and not saved: %s", run.Experiment, run.NotSaved))
		}
	}
	return err
}

// judgedExit says a verdict with the exit status alone: the reasons have been printed.
func judgedExit(v experiments.Verdict) error {
	switch v {
	case experiments.AsExpected:
		return nil
	case experiments.Unexpected:
		return exitError{exitRefuted, nil}
	}
	return exitError{exitInconclusive, nil}
}
