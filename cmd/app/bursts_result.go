package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/versions"
)

// burstsResult is everything that was seen and how it is judged; --json prints it.
type burstsResult struct {
	Redis     string              `json:"redis,omitempty"` // of the demo: redis-server or miniredis
	Topology  string              `json:"topology"`
	Users     int                 `json:"users"`
	Drivers   int                 `json:"drivers"`
	Rounds    int                 `json:"rounds"`
	URL       string              `json:"url"` // of the balancer
	Instances []instance          `json:"instances"`
	Pageview  []pageviewRow       `json:"pageview"`
	Order     []orderRow          `json:"order"`
	Verdict   experiments.Verdict `json:"verdict"`
	TookMS    int64               `json:"took_ms"` // from the start of the command to the last answer
	next      string              // what to try next, for people
}

type instance struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// judged is what both kinds of rows have.
type judged struct {
	Round       int                 `json:"round"`
	Version     string              `json:"version"`
	Lock        string              `json:"lock"`
	PerInstance map[string]int      `json:"per_instance"`
	TookMS      float64             `json:"took_ms"`
	Stale       int                 `json:"stale,omitempty"` // requests refused as a stale holder's; none of them had its effect
	Failed      []string            `json:"failed,omitempty"`
	Verdict     experiments.Verdict `json:"verdict"`
	Why         string              `json:"why,omitempty"` // it is not as expected
}

type pageviewRow struct {
	judged
	Final   int64  `json:"final"`
	Lost    int    `json:"lost"`
	Inside  int    `json:"written_twice_inside_one"`
	Across  int    `json:"written_twice_across_both"`
	Article string `json:"article_a4"` // final value that A4 reports for 666
}

type orderRow struct {
	judged
	Order   uint64 `json:"order"` // its number
	Winners int    `json:"winners"`
}

// add judges one version's two bursts.
func (r *burstsResult) add(round int, claim versions.Version, views burst.Views, grabs burst.Grabs) {
	row := judged{Round: round, Version: views.Version, Lock: claim.Title}
	row.Stale = len(views.Stale)
	r.Pageview = append(r.Pageview, pageviewRow{
		judged: row.with(burst.Expect(claim), views.Outcome(), views.PerInstance(), views.Took, views.Failed),
		Final:  views.Final, Lost: views.Lost(), Inside: views.Inside(), Across: views.Across(), Article: claim.Article,
	})
	row.Stale = len(grabs.Stale)
	r.Order = append(r.Order, orderRow{
		judged:  row.with(burst.Expect(claim), grabs.Outcome(), grabs.PerInstance(), grabs.Took, grabs.Failed),
		Order:   grabs.Order,
		Winners: grabs.Winners(),
	})
}

func (j judged) with(expect experiments.Expect, o experiments.Outcome, perInstance map[string]int, took time.Duration, failed []string) judged {
	j.PerInstance, j.TookMS, j.Failed = perInstance, float64(took.Microseconds())/1000, failed
	j.Verdict = experiments.Judge(expect, o)
	j.Why = j.Verdict.Because(o)
	return j
}

// judge sums up.
func (r *burstsResult) judge() {
	var all []experiments.Verdict
	for i := range r.Pageview {
		all = append(all, r.Pageview[i].Verdict, r.Order[i].Verdict)
	}
	r.Verdict = experiments.Worst(all...)
}

// exit says with the program's exit status how the demo was judged.
func (r *burstsResult) exit() error {
	return verdictExit(r.Verdict, r.reasons(r.Verdict))
}

// verdictExit says a verdict with the program's exit status.
func verdictExit(v experiments.Verdict, why string) error {
	switch v {
	case experiments.AsExpected:
		return nil
	case experiments.Unexpected:
		return exitError{exitRefuted, errors.New("unexpected: " + why)}
	}
	return exitError{exitInconclusive, errors.New("inconclusive: " + why)}
}

// reasons lists the rows with a verdict.
func (r *burstsResult) reasons(v experiments.Verdict) string {
	var reasons []string
	for i, views := range r.Pageview {
		if views.Verdict == v {
			reasons = append(reasons, fmt.Sprintf("%s page views, round %d: final %d of %d, lost %d, written twice %d in one and %d over both: %s",
				views.Version, views.Round, views.Final, r.Users, views.Lost, views.Inside, views.Across, views.Why))
		}
		if grabs := r.Order[i]; grabs.Verdict == v {
			reasons = append(reasons, fmt.Sprintf("%s order, round %d: %d winners: %s", grabs.Version, grabs.Round, grabs.Winners, grabs.Why))
		}
	}
	return strings.Join(reasons, "; ")
}
