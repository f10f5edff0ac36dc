package scorecard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// State is what a row came to.
type State string

// The states.
const (
	Holds        State = "holds"
	Violated     State = "violated"
	Inconclusive State = "inconclusive"
	NotClaimed   State = "not claimed"
	NotTried     State = "not tried" // the run was stopped before its end
)

// States are all of them, in the order of the summary.
var States = []State{Holds, Violated, Inconclusive, NotTried, NotClaimed}

// Numbers are those of the rows that came to a state, such as T02.
func (c *Scorecard) Numbers(of State) (numbers []string) {
	for _, row := range c.Rows {
		if row.State == of {
			numbers = append(numbers, lab.Number(row.ID))
		}
	}
	return numbers
}

// Count is how many rows came to a state.
func (c *Scorecard) Count(of State) int { return len(c.Numbers(of)) }

// Of is the state in a sentence about n rows.
func (s State) Of(n int) string {
	if s == Holds && n != 1 {
		return "hold"
	}
	return string(s)
}

// Scorecard is what a program came to. `app lab try --json` prints it.
type Scorecard struct {
	Name    string          `json:"name"`
	Program []string        `json:"program"`
	Claims  protocol.Claims `json:"claims"`
	Server  string          `json:"server"` // with its version
	Build   string          `json:"build"`
	Pace    lab.Pace        `json:"pace"`
	Rows    []Score         `json:"rows"`
	Stopped string          `json:"stopped,omitempty"` // why not all rows were tried
	Stderr  []string        `json:"stderr,omitempty"`  // the last lines there of the program that stopped the run
	Verdict lab.Verdict     `json:"verdict"`           // the worst of the rows that are claimed
	Took    float64         `json:"took_s"`
	Ended   time.Time       `json:"at"`
	Report  string          `json:"report,omitempty"` // the page
}

// Score is a row of the scorecard.
type Score struct {
	ID       string                 `json:"id"`
	Title    string                 `json:"title"`
	State    State                  `json:"state"`
	Why      string                 `json:"why,omitempty"`    // it does not hold
	Stderr   string                 `json:"stderr,omitempty"` // the last lines there of a copy, when it does not hold
	Variants []lab.VariantJudgement `json:"variants,omitempty"`
	Measures []lab.Measured         `json:"measures,omitempty"`
	Took     float64                `json:"took_s"`

	Saved lab.Saved `json:"-"` // its record, for the page
}

// Chosen are the rows with these ids, or numbers such as T03; without one all rows. The error names an id of no row.
func Chosen(ids []string) (rows []Row, err error) {
	if len(ids) == 0 {
		return Rows(), nil
	}
	for _, id := range ids {
		i := slices.IndexFunc(Rows(), func(r Row) bool {
			number := lab.Number(r.ID)
			return strings.EqualFold(id, number) || strings.EqualFold(id, r.ID)
		})
		if i < 0 {
			return nil, fmt.Errorf("no row is called %q; app lab try --list shows the rows", id)
		}
		if slices.ContainsFunc(rows, func(r Row) bool { return r.ID == Rows()[i].ID }) {
			return nil, fmt.Errorf("row %q is named twice; name it once", id)
		}
		rows = append(rows, Rows()[i])
	}
	return rows, nil
}

// Run tries rows on a program, so many at a time. The events of their runs are told as the options say. It stops when ctx ends, and after
// the first row that could not begin because the program grants nothing. The rows that are done by then are on the scorecard.
func Run(ctx context.Context, p Program, rows []Row, parallel int, o lab.Options) *Scorecard {
	began := time.Now()
	o.Once = true
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p.run = &tryRun{stop: stop}
	card := &Scorecard{Name: p.Claims.Name, Program: p.Argv, Claims: p.Claims, Build: o.Build, Pace: o.Pace}
	card.Server = servers.ServerName(p.Claims.Store, o.Real)
	runs := lab.RunAll(ctx, p.Experiments(rows), parallel, func(e lab.Experiment) lab.Result {
		return lab.Run(ctx, e, o)
	})
	for _, r := range rows {
		i := slices.IndexFunc(runs, func(run lab.Result) bool { return run.Experiment.ID == r.ID })
		if i < 0 {
			card.Rows = append(card.Rows, Score{ID: r.ID, Title: r.Title, State: NotClaimed, Why: r.untried(p)})
			continue
		}
		card.Rows = append(card.Rows, ScoreOf(runs[i].Saved, rows))
	}
	card.stopped(context.Cause(ctx))
	card.Verdict, card.Took = card.verdict(), time.Since(began).Seconds()
	card.Ended = began.Add(time.Duration(card.Took * float64(time.Second))).UTC()
	return card
}

// stopped takes why a run was stopped, if it was and rows are left.
func (c *Scorecard) stopped(cause error) {
	program := ProgramError{}
	switch {
	case cause == nil || c.Count(NotTried) == 0:
	case errors.As(cause, &program):
		c.Stopped, c.Stderr = program.Why, program.Stderr
	default:
		c.Stopped = "it was interrupted"
	}
}

// verdict is that of the worst row that was tried.
func (c *Scorecard) verdict() lab.Verdict {
	switch tried := len(c.Runs()); {
	case c.Count(Violated) > 0:
		return lab.Unexpected
	case c.Count(Inconclusive) > 0 || c.Stopped != "" || tried == 0:
		return lab.Inconclusive
	}
	return lab.AsExpected
}

// ScoreOf is what the run of one of the rows came to. A control with a violation shows nothing of the fault. The promise is violated
// without it.
func ScoreOf(s lab.Saved, rows []Row) Score {
	row := rows[slices.IndexFunc(rows, func(r Row) bool { return r.ID == s.Experiment.ID })]
	measures := slices.DeleteFunc(s.Record.Measures(), func(m lab.Measured) bool { return !slices.Contains(row.Shows, m.Quantity) })
	state := map[lab.Verdict]State{lab.AsExpected: Holds, lab.Unexpected: Violated}[s.Judgement.Verdict]
	why := s.Judgement.Why
	control := slices.IndexFunc(s.Judgement.Variants, func(v lab.VariantJudgement) bool { return v.Control && v.Violation != nil })
	switch {
	case state == "" && control >= 0:
		v := s.Judgement.Variants[control]
		state, why = Violated, fmt.Sprintf("%s: %s", v.Name, v.Violation.What)
	case state == "" && (s.Record.Interrupted || s.Record.Began.IsZero()):
		state, why, measures = NotTried, "", nil
	case state == "":
		state = Inconclusive
	}
	said := ""
	if state == Violated || state == Inconclusive {
		said = stderrOf(s)
	}
	return Score{
		ID: s.Experiment.ID, Title: s.Experiment.Title, State: state, Why: why, Stderr: said, Variants: s.Judgement.Variants,
		Measures: measures, Took: s.Record.Took.Seconds(), Saved: s,
	}
}

// stderrOf is the end of what a copy wrote there in the first variant that is not as expected: the copy that the reason names, or any.
func stderrOf(s lab.Saved) (text string) {
	at := slices.IndexFunc(s.Judgement.Variants, func(v lab.VariantJudgement) bool { return v.Verdict != lab.AsExpected })
	if at < 0 {
		return ""
	}
	v := s.Judgement.Variants[at]
	for _, e := range s.Record.Events {
		if e.Kind != history.Note || e.Name != stderr || e.Variant != v.Name {
			continue
		}
		if text = e.Text; strings.Contains(v.Why, e.Timeline+": ") {
			break
		}
	}
	return text
}

// Runs are the records of the rows that were tried.
func (c *Scorecard) Runs() (all []lab.Saved) {
	for _, row := range c.Rows {
		if row.State != NotClaimed && row.State != NotTried {
			all = append(all, row.Saved)
		}
	}
	return all
}

// Take replaces rows by those of a newer scorecard of the same lock, which tried some of them again.
func (c *Scorecard) Take(newer *Scorecard) {
	for i, old := range c.Rows {
		if n := slices.IndexFunc(newer.Rows, func(row Score) bool { return row.ID == old.ID }); n >= 0 {
			c.Rows[i] = newer.Rows[n]
		}
	}
	c.Took, c.Ended, c.Build, c.Claims, c.Verdict = c.Took+newer.Took, newer.Ended, newer.Build, newer.Claims, c.verdict()
}
