// Package trialtest has what tests of claims share: histories, and single trials.
package trialtest

import (
	"errors"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/history"
)

// Numbered makes a history of events, a millisecond apart.
func Numbered(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq, events[i].At = i+1, time.Duration(i)*time.Millisecond
	}
	return events
}

// Of runs a scenario as the only trial of an experiment, and returns what it recorded.
func Of(t *testing.T, scenario experiments.Scenario) ([]history.Event, error) {
	t.Helper()
	e := experiments.Experiment{Variants: []experiments.Variant{{Name: "it", Run: scenario}}}
	r := experiments.Run(t.Context(), e, experiments.Options{Trials: 1})
	if len(r.Variants) == 0 || len(r.Variants[0].Trials) == 0 {
		t.Fatal("no trial ran")
	}
	if text := r.Variants[0].Trials[0].Err; text != "" {
		return r.Events, errors.New(text)
	}
	return r.Events, nil
}
