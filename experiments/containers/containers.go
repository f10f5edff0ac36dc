// Package containers sends the same bursts to the containers over each Redis topology, with several load tools, and kills the master once
// during a burst.
//
// What is NOT guaranteed: times of different tools do not compare, as [loadtool] says, and those of
// different machines even less.
package containers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/loadtool"
	"locklab/stack/compose"
	"locklab/versions"
)

// Config says what is to be compared.
type Config struct {
	Dir        string // the checkout with docker-compose.yml
	Topologies []string
	Versions   []string
	Users      int // simultaneous page views
	Drivers    int // that simultaneously want one order
	Tools      []Tool
	Tell       func(n, all int, done float64, what string) // the n-th of all steps begins; done is the part of the work before it

	steps *steps
}

// BackWithin is how long a topology that replaces its master has after the master's death.
const BackWithin = time.Minute

// Bounds.
const (
	attempts    = 3               // of a burst that shows nothing
	burstWithin = 3 * time.Minute // a load tool's start and end included
	readyWithin = time.Minute     // from built images
)

// Result is everything that was seen.
type Result struct {
	Users, Drivers int
	Tools          []string
	Topologies     []Topology
	Began, Ended   time.Time
	Build          string
	Lease          string // of a lock whose holder died
}

// Topology is what was seen over one.
type Topology struct {
	Name   string
	Ready  time.Duration // from the command that changes to it to the last healthy container
	Rows   []Row
	Outage Outage

	build string // what the instances say they were built from
}

// Verdict is unexpected when the topology was not ready in time, or did not recover; else the worst of its
// cells.
func (t Topology) Verdict() experiments.Verdict {
	all := []experiments.Verdict{t.Outage.Verdict()}
	if t.Ready > readyWithin {
		all = append(all, experiments.Unexpected)
	}
	for _, row := range t.Rows {
		for _, cell := range row.Cells {
			all = append(all, cell.Verdict)
		}
	}
	return experiments.Worst(all...)
}

// Row is one version's bursts of one kind, a cell for each tool.
type Row struct {
	Kind  loadtool.Kind
	Claim versions.Version
	Cells []Cell
}

// Cell is one tool's burst, judged.
type Cell struct {
	Record   loadtool.Record
	Verdict  experiments.Verdict
	Why      string // it is not as expected
	Attempts int    // the last of which is this
}

// Agree reports whether all tools saw the same: the same verdict, and where nothing may be lost the
// same number.
func (r Row) Agree() bool {
	return !slices.ContainsFunc(r.Cells, func(c Cell) bool {
		return c.Verdict != r.Cells[0].Verdict || burst.Expect(r.Claim) == experiments.Never && c.Final() != r.Cells[0].Final()
	})
}

// Final is the counter at the end, or how many drivers won; 0 without a record.
func (c Cell) Final() int64 {
	switch {
	case c.Record.Order != nil:
		return int64(c.Record.Order.Winners())
	case c.Record.Pageview != nil:
		return c.Record.Pageview.Final
	}
	return 0
}

// Verdict is the worst of everything.
func (r *Result) Verdict() experiments.Verdict {
	var all []experiments.Verdict
	for _, t := range r.Topologies {
		all = append(all, t.Verdict())
	}
	return experiments.Worst(all...)
}

// Run does it all and takes the containers down, whatever happened. An error means that it could not
// be done to its end.
func Run(ctx context.Context, cfg Config) (result *Result, err error) {
	result = &Result{Users: cfg.Users, Drivers: cfg.Drivers, Began: time.Now()}
	for _, tool := range cfg.Tools {
		result.Tools = append(result.Tools, tool.Name)
	}
	var last compose.Docker
	defer func() {
		if last.Project == nil {
			return
		}
		cfg.Tell(0, 0, 0, "taking the containers down")
		down, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if failed := last.Down(down); err == nil {
			err = failed
		}
	}()
	cfg.steps = cfg.plan()
	for _, name := range cfg.Topologies {
		project, err := compose.Load(ctx, cfg.Dir, name)
		if err != nil {
			return nil, err
		}
		result.Lease = project.Variable("LEASE")
		last = compose.Docker{Project: project}
		topology, err := cfg.try(ctx, last)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		result.Topologies = append(result.Topologies, topology)
		result.Build = topology.build
	}
	result.Ended = time.Now()
	return result, nil
}

// try brings one topology up, fires everything at it and breaks it.
func (cfg Config) try(ctx context.Context, docker compose.Docker) (Topology, error) {
	t := Topology{Name: docker.Topology}
	cfg.begins(starts, "%s: up", t.Name)
	began := time.Now()
	if err := docker.Up(ctx); err != nil {
		why, _ := docker.Diagnosis(context.WithoutCancel(ctx)) // before all of it is taken down
		return t, fmt.Errorf("%w: %s", err, strings.Join(why, "; "))
	}
	t.Ready = time.Since(began)
	target := burst.Target{URL: "http://" + docker.Published("nginx"), AdminToken: docker.Variable("ADMIN_TOKEN")}
	health, err := target.Health(ctx)
	if err != nil {
		return t, err
	}
	t.build = health.Build
	// A burst that does not count opens every connection.
	if _, err := burst.RunViews(ctx, target, "v0", cfg.Users, burst.Simultaneous); err != nil {
		return t, err
	}
	if t.Rows, err = cfg.rows(ctx, target, t.Name); err != nil {
		return t, err
	}
	cfg.begins(dies, "%s: the master dies", t.Name)
	t.Outage, err = outage(ctx, docker, target, cfg.Users)
	return t, err
}

var kinds = []loadtool.Kind{loadtool.Pageview, loadtool.Order}

func (cfg Config) rows(ctx context.Context, target burst.Target, topology string) (rows []Row, err error) {
	for _, kind := range kinds {
		for _, claim := range cfg.chosen() {
			row, err := cfg.row(ctx, kind, claim, target, topology)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (cfg Config) row(ctx context.Context, kind loadtool.Kind, claim versions.Version, target burst.Target, topology string) (Row, error) {
	row := Row{Kind: kind, Claim: claim}
	shot := Shot{Kind: kind, Version: claim.Name, Users: cfg.Users, Target: target}
	if kind == loadtool.Order {
		shot.Users = cfg.Drivers
	}
	for _, tool := range cfg.Tools {
		cfg.begins(tool.Takes, "%s: %s %s, %d simultaneously by %s", topology, claim.Name, kind, shot.Users, tool.Name)
		cell, err := fire(ctx, tool, shot, claim)
		if err != nil {
			return row, fmt.Errorf("%s %s by %s: %w", claim.Name, kind, tool.Name, err)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row, nil
}

// fire lets one tool fire until a burst shows something. A tool that left no record shows nothing.
func fire(ctx context.Context, tool Tool, shot Shot, claim versions.Version) (Cell, error) {
	var cell Cell
	for cell.Attempts < attempts && cell.Verdict == experiments.Inconclusive {
		one, cancel := context.WithTimeout(ctx, burstWithin)
		record, err := tool.Fire(one, shot)
		cancel()
		if ctx.Err() != nil {
			return cell, ctx.Err()
		}
		cell.Attempts++
		if err != nil {
			cell.Record, cell.Why = loadtool.Record{}, err.Error()
			continue
		}
		outcome := record.Outcome()
		cell.Record, cell.Verdict = record, experiments.Judge(burst.Expect(claim), outcome)
		cell.Why = cell.Verdict.Because(outcome)
	}
	return cell, nil
}
