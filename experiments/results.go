package experiments

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/experiments/terminal"
	"locklab/history"
)

// Result is what became of an experiment in a run of several.
type Result struct {
	Saved
	NotSaved string // why the run is not saved; empty: it is in Dir
}

// MarshalJSON is the judgement with where the run is, as `app lab run --json` prints it.
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Judgement
		Claim    string  `json:"claim,omitempty"`
		Command  string  `json:"command,omitempty"` // that reproduces it
		Took     float64 `json:"took_s"`
		Saved    string  `json:"saved,omitempty"` // the run's folder
		NotSaved string  `json:"not_saved,omitempty"`
	}{r.Judgement, r.Record.Claim, r.Record.Command, r.Record.Took.Seconds(), r.Dir, r.NotSaved})
}

// Results are the runs of several experiments. `app lab run --json` prints them.
type Results struct {
	Command string   `json:"command"` // that reproduces them
	Seed    uint64   `json:"seed"`
	Redis   string   `json:"redis"`
	Build   string   `json:"build"`
	Runs    []Result `json:"runs"`
	LeftOut []string `json:"left_out,omitempty"` // they run elsewhere only
	Missing []string `json:"missing,omitempty"`  // programs without which experiments of a group were left out: a sentence for each
	Verdict Verdict  `json:"verdict"`            // the worst
	Took    float64  `json:"took_s"`
	Report  string   `json:"report,omitempty"` // of all of it, as a page

	Elsewhere string `json:"-"` // where those that are left out run
}

// RunAndSave runs the experiment, judges the run, and saves it below store.
func (e Experiment) RunAndSave(ctx context.Context, store string, o Options) (r Result) {
	r.Experiment, r.Record = e, Run(ctx, e, o)
	r.Judgement = e.Judge(r.Record)
	var err error
	if r.Dir, err = Save(store, r.Record); err != nil {
		r.NotSaved = err.Error()
	}
	return r
}

// RunAll calls run for each experiment, so many at a time, and then for each that must run alone. The longest begin first, so that none of
// them is the last. After ctx has ended it begins none. The results are in the order of all.
func RunAll(ctx context.Context, all []Experiment, parallel int, run func(Experiment) Result) []Result {
	results := make([]Result, len(all))
	begin := func(i int) {
		if ctx.Err() == nil {
			results[i] = run(all[i])
		}
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	order := make([]int, len(all))
	for i, e := range all {
		order[i] = i
		notBegun := Judgement{Experiment: e.ID, Why: "it was not begun", Void: true}
		results[i].Saved = Saved{Experiment: e, Record: Record{Claim: e.Claim}, Judgement: notBegun}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[j].Takes, all[i].Takes) })
	for _, i := range order {
		if !all[i].Alone {
			group.Go(func() error { begin(i); return nil })
		}
	}
	_ = group.Wait() // no run has an error: its result has it
	for _, i := range order {
		if all[i].Alone {
			begin(i)
		}
	}
	return results
}

// WorstOf is the worst verdict of runs.
func WorstOf(runs []Result) Verdict {
	var all []Verdict
	for _, r := range runs {
		all = append(all, r.Judgement.Verdict)
	}
	return Worst(all...)
}

// NotSaved says which runs were judged and could not be saved.
func (r *Results) NotSaved() (err error) {
	for _, run := range r.Runs {
		if run.NotSaved != "" {
			err = errors.Join(err, fmt.Errorf("%s is judged and not saved: %s", run.Judgement.Experiment, run.NotSaved))
		}
	}
	return err
}

// Text is the result for people: a table of verdicts, the evidence, and how to reproduce it.
func (r *Results) Text(colour bool) string {
	var b strings.Builder
	if len(r.Runs) == 1 && r.Runs[0].Record.Claim != "" {
		fmt.Fprintf(&b, "%s\n\n", terminal.Wrap(r.Runs[0].Record.Claim, terminal.Width))
	}
	fmt.Fprintf(&b, "%s\n\n%s", RunsTable(r.Runs, colour), Evidence(r.Runs, colour))
	if len(r.Runs) > 1 {
		fmt.Fprintf(&b, "%s\n\n", r.times())
	} else if len(r.Runs) == 1 {
		b.WriteString(r.Runs[0].curve())
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "Left out, for they run %s: %s\n\n", r.Elsewhere, strings.Join(r.LeftOut, ", "))
	}
	for _, sentence := range r.Missing {
		fmt.Fprintf(&b, "Left out: %s\n\n", sentence)
	}
	for _, run := range r.Runs {
		if run.Dir != "" && run.NotSaved == "" {
			fmt.Fprintf(&b, "Saved:   %s\n", run.Dir)
		}
	}
	if r.Report != "" {
		fmt.Fprintf(&b, "Report:  %s\n", r.Report)
	}
	fmt.Fprintf(&b, "Reproduce: %s\n", r.Command)
	fmt.Fprintf(&b, "Verdict: %s (%.1f s, Redis: %s). %s\n", r.Verdict.Painted(colour), r.Took, r.Redis, Meaning)
	return b.String()
}

// curve is the experiment's curve as a table; empty: it has none.
func (r Result) curve() string {
	c := r.Experiment.Curve
	points := c.Points(r.Record)
	if len(points) == 0 {
		return ""
	}
	x, y := points[0].X.Label(), points[0].Y.Label()
	t := terminal.NewTable(c.Variant, x, y).Right(x, y)
	for _, p := range points {
		t.Row(p.Timeline, p.X.Text(p.X.Median()), p.Y.Text(p.Y.Median()))
	}
	return fmt.Sprintf("%s\n\n", t)
}

// RunsTable has a row for each variant of each run.
func RunsTable(runs []Result, colour bool) terminal.Table {
	t := terminal.NewTable("experiment", "variant", "expected", "seen", "time", "verdict").Right("time")
	for _, run := range runs {
		if len(run.Judgement.Variants) == 0 {
			t.Row(run.name(), "", "", "", "", run.Judgement.Verdict.Painted(colour))
		}
		name := run.name()
		for _, v := range run.Judgement.Variants {
			seconds := fmt.Sprintf("%.1f s", run.Record.TookBy(v.Name).Seconds())
			t.Row(name, VariantTitle(v.Name, v.Control), v.Expect, v.Seen(), seconds, v.Verdict.Painted(colour))
			name = ""
		}
	}
	return t
}

// VariantTitle marks the control.
func VariantTitle(name string, control bool) string {
	if control {
		return name + " (control)"
	}
	return name
}

// name is the experiment's id, or where the run is that is not known to be one's.
func (r Result) name() string { return cmp.Or(r.Judgement.Experiment, r.Dir) }

// Evidence says why a verdict is not as expected, and draws what shows it. Of a single run it draws the expected violations as well.
func Evidence(runs []Result, colour bool) string {
	var b strings.Builder
	for _, run := range runs {
		name := terminal.Printable(run.name())
		if j := run.Judgement; j.Why != "" {
			fmt.Fprintf(&b, "%s: %s: %s\n", name, j.Verdict.Painted(colour), terminal.OneLine(j.Why))
		}
		for _, v := range run.Judgement.Variants {
			if v.LeftOut != "" {
				fmt.Fprintf(&b, "%s, %s: left out: it %s\n", name, terminal.Printable(v.Name), terminal.OneLine(v.LeftOut))
			}
			if v.Violation == nil || len(runs) > 1 && run.Judgement.Verdict == AsExpected {
				continue
			}
			fmt.Fprintf(&b, "%s, %s: %s\n\n%s\n", name, terminal.Printable(v.Name), terminal.Printable(v.Violation.What),
				terminal.PrintableLines(history.Timelines(v.Evidence)))
		}
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
	return b.String()
}

// usual is about how long such a run takes: where it ran, with as many trials.
func (r Result) usual() time.Duration {
	usual := r.Experiment.Takes
	if strings.HasPrefix(r.Record.Redis, contained) {
		usual = r.Experiment.Docker
	}
	trials := 0
	for _, v := range r.Record.Variants {
		trials += len(v.Trials)
	}
	own := 0
	for _, v := range r.Experiment.Variants {
		own += (Options{}).trialsOf(r.Experiment, v)
	}
	if own > 0 {
		usual = usual * time.Duration(trials) / time.Duration(own)
	}
	return usual
}

func (r *Results) times() terminal.Table {
	runs := slices.Clone(r.Runs)
	slices.SortStableFunc(runs, func(a, b Result) int { return cmp.Compare(b.Record.Took, a.Record.Took) })
	t := terminal.NewTable("where the time went", "s", "usual").Right("s", "usual")
	for _, run := range runs {
		t.Row(run.name(), fmt.Sprintf("%.1f", run.Record.Took.Seconds()), fmt.Sprintf("%.0f", run.usual().Seconds()))
	}
	t.Row("all", fmt.Sprintf("%.1f", r.Took), "")
	return t
}

// Meaning says what "as expected" means; it stands beside every verdict.
const Meaning = `"As expected" means: no violation in this run, or one where it was expected.`

// Painted is the verdict in green, red or yellow, where colours are on.
func (v Verdict) Painted(on bool) terminal.Trusted {
	colour := terminal.Yellow
	switch v {
	case AsExpected:
		colour = terminal.Green
	case Unexpected:
		colour = terminal.Red
	}
	return terminal.Paint(v.String(), colour, on)
}
