// Package containers sends the same bursts to the containers over each Redis topology, with several load tools, and kills the master once
// during a burst.
//
// What is NOT guaranteed: times of different tools do not compare, as [loadtool] says, and those of
// different machines even less.
package containers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/burst/loadtool"
	"locklab/lab/servers/compose"
	"locklab/versions"
)

// Config says what is to be compared.
type Config struct {
	Dir        string // the checkout with docker-compose.yml
	Topologies []string
	Versions   []string
	Users      int // simultaneous page views
	Drivers    int // that simultaneously want one order
	Tools      []burst.Sender
	Tell       func(n, all int, what string) // the n-th of all steps begins

	step int
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
func (t Topology) Verdict() lab.Verdict {
	all := []lab.Verdict{t.Outage.Verdict()}
	if t.Ready > readyWithin {
		all = append(all, lab.Unexpected)
	}
	for _, row := range t.Rows {
		for _, cell := range row.Cells {
			all = append(all, cell.Verdict)
		}
	}
	return lab.Worst(all...)
}

// Row is one version's bursts of one kind, a cell for each tool.
type Row struct {
	Kind  loadtool.Kind
	Claim versions.Version
	Cells []Cell
}

// Cell is one tool's burst, judged.
type Cell struct {
	Final    int64 // the counter at the end, or how many drivers won; 0 without a record
	Verdict  lab.Verdict
	Why      string // it is not as expected
	Attempts int    // the last of which is this
}

// Agree reports whether all tools saw the same: the same verdict, and where nothing may be lost the
// same number.
func (r Row) Agree() bool {
	return !slices.ContainsFunc(r.Cells, func(c Cell) bool {
		return c.Verdict != r.Cells[0].Verdict || burst.Expect(r.Claim) == lab.Never && c.Final != r.Cells[0].Final
	})
}

// Verdict is the worst of everything.
func (r *Result) Verdict() lab.Verdict {
	var all []lab.Verdict
	for _, t := range r.Topologies {
		all = append(all, t.Verdict())
	}
	return lab.Worst(all...)
}

// Run does it all, takes the containers down and closes the tools, whatever happened. An error means that it could not be done to its end.
func Run(ctx context.Context, cfg Config) (result *Result, err error) {
	result = &Result{Users: cfg.Users, Drivers: cfg.Drivers, Began: time.Now()}
	for _, tool := range cfg.Tools {
		result.Tools = append(result.Tools, tool.Name())
		defer func() { err = errors.Join(err, tool.Close()) }()
	}
	var last compose.Docker
	defer func() {
		if last.Project == nil {
			return
		}
		cfg.Tell(0, 0, "taking the containers down")
		down, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if failed := last.Down(down); err == nil {
			err = failed
		}
	}()
	for _, name := range cfg.Topologies {
		project, err := compose.Load(ctx, cfg.Dir, name)
		if err != nil {
			return nil, err
		}
		result.Lease = project.Environment("app-1", "LAB_LEASE")
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
func (cfg *Config) try(ctx context.Context, docker compose.Docker) (Topology, error) {
	t := Topology{Name: docker.Topology}
	cfg.begins("%s: up", t.Name)
	if err := docker.Claim(ctx); err != nil {
		return t, err
	}
	began := time.Now()
	if err := docker.Up(ctx); err != nil {
		why, _ := docker.Diagnosis(context.WithoutCancel(ctx)) // before all of it is taken down
		return t, fmt.Errorf("%w: %s", err, strings.Join(why, "; "))
	}
	t.Ready = time.Since(began)
	target := burst.Target{URL: "http://" + docker.Published("nginx"), AdminToken: docker.Environment("app-1", "LAB_ADMIN_TOKEN")}
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
	cfg.begins("%s: the master dies", t.Name)
	t.Outage, err = outage(ctx, docker, target, cfg.Users)
	return t, err
}

var kinds = []loadtool.Kind{loadtool.Pageview, loadtool.Order}

func (cfg *Config) rows(ctx context.Context, target burst.Target, topology string) (rows []Row, err error) {
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

func (cfg *Config) row(ctx context.Context, kind loadtool.Kind, claim versions.Version, target burst.Target, topology string) (Row, error) {
	row := Row{Kind: kind, Claim: claim}
	for _, tool := range cfg.Tools {
		cfg.begins("%s: %s %s, %d simultaneously by %s", topology, claim.Name, kind, cfg.requests(kind), tool.Name())
		cell, err := cfg.repeat(ctx, tool, kind, claim, target)
		if err != nil {
			return row, fmt.Errorf("%s %s by %s: %w", claim.Name, kind, tool.Name(), err)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row, nil
}

// begins tells of a step.
func (cfg *Config) begins(format string, args ...any) {
	cfg.step++
	all := len(cfg.Topologies) * (2 + len(kinds)*len(cfg.chosen())*len(cfg.Tools)) // each is started, and its master dies
	cfg.Tell(cfg.step, all, fmt.Sprintf(format, args...))
}

func (cfg *Config) chosen() []versions.Version {
	return slices.DeleteFunc(versions.All(), func(v versions.Version) bool { return !slices.Contains(cfg.Versions, v.Name) })
}

// requests is how many are sent simultaneously.
func (cfg Config) requests(kind loadtool.Kind) int {
	if kind == loadtool.Order {
		return cfg.Drivers
	}
	return cfg.Users
}

// repeat lets one tool send until a burst shows something. A tool that left no record shows nothing.
func (cfg Config) repeat(
	ctx context.Context, tool burst.Sender, kind loadtool.Kind, claim versions.Version, target burst.Target,
) (Cell, error) {
	var cell Cell
	for cell.Attempts < attempts && cell.Verdict == lab.Inconclusive {
		one, cancel := context.WithTimeout(ctx, burstWithin)
		final, outcome, err := cfg.send(one, tool, kind, claim, target)
		cancel()
		if ctx.Err() != nil {
			return cell, ctx.Err()
		}
		cell.Attempts++
		if err != nil {
			cell.Final, cell.Why = 0, err.Error()
			continue
		}
		cell.Final, cell.Verdict = final, lab.Judge(burst.Expect(claim), outcome)
		cell.Why = cell.Verdict.Because(outcome)
	}
	return cell, nil
}

// send sends one burst. An error has what the tool printed last.
func (cfg Config) send(
	ctx context.Context, tool burst.Sender, kind loadtool.Kind, claim versions.Version, target burst.Target,
) (final int64, outcome lab.Outcome, err error) {
	if kind == loadtool.Order {
		var grabs burst.Grabs
		grabs, err = tool.Grabs(ctx, target, claim.Name, cfg.Drivers)
		final, outcome = int64(grabs.Winners()), grabs.Outcome()
	} else {
		var views burst.Views
		views, err = tool.Views(ctx, target, claim.Name, cfg.Users, nil)
		final, outcome = views.Final, views.Outcome()
	}
	if failed := (*loadtool.Failure)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, failed.Output[strings.LastIndex(failed.Output, "\n")+1:])
	}
	return final, outcome, err
}
