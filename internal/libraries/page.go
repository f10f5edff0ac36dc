package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"

	"locklab/experiments"
	"locklab/experiments/agent/protocol"
	"locklab/experiments/try"
	"locklab/internal/marked"
)

const (
	page     = "docs/libraries.md"
	workshop = "docs/workshop.md"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// result is a lock with its record.
type result struct {
	Lock
	Record
}

func results(of []Lock) (all []result, err error) {
	for _, l := range of {
		r, unread := saved(l)
		err = errors.Join(err, unread)
		all = append(all, result{l, r})
	}
	return all, err
}

// writePages writes docs/libraries.md, and the rungs of the workshop, from the saved scorecards.
func writePages(t Table) error {
	all, err := results(t.Locks)
	steps, unread := results(t.Rungs)
	if err = errors.Join(err, unread); err != nil {
		return err
	}
	for _, r := range steps {
		if r.Scorecard == nil {
			return fmt.Errorf("%s has no scorecard: %s; the pages are as they were", r.Name, r.Left)
		}
	}
	text, err := pageOf(all, t.Left)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(page, []byte(text), 0o644), marked.Update(workshop, "rungs", rungsOf(steps)))
}

func pageOf(all []result, libraries []*Library) (string, error) {
	left := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Scorecard != nil })
	all = slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Scorecard == nil })
	must, may := rowsOf()
	if len(all) == 0 {
		return "", errors.New("no lock was tried")
	}
	var b strings.Builder
	err := pageTemplate.Execute(&b, map[string]any{
		"Libraries": len(librariesOf(all)), "Ways": len(keep(all, ofLibrary)), "Conclusions": conclusions(all), "All": all,
		"Left": left, "LeftLibraries": libraries,
		"Must": must, "May": may, "MustTable": tableOf(all, must), "MayTable": tableOf(all, may), "Violations": violationsOf(all),
		"Costs": costsOf(all), "Limits": librariesOf(all), "When": whenOf(all), "Servers": serversOf(all),
	})
	return b.String(), err
}

// librariesOf are the libraries of the locks, each once.
func librariesOf(all []result) (of []result) {
	for _, r := range all {
		if r.Of.Package != "" && !slices.ContainsFunc(of, func(other result) bool { return other.Of == r.Of }) {
			of = append(of, r)
		}
	}
	return of
}

// rowsOf are the rows that every lock must keep, and those that a lock may claim.
func rowsOf() (must, may []try.Row) {
	for _, row := range try.Rows() {
		switch {
		case row.Measures:
		case row.Claim.Name == "":
			must = append(must, row)
		default:
			may = append(may, row)
		}
	}
	return must, may
}

// tableOf is a line for each lock, and a cell for each row.
func tableOf(all []result, rows []try.Row) string {
	var b strings.Builder
	b.WriteString("| lock |")
	for _, row := range rows {
		fmt.Fprintf(&b, " %s |", experiments.Number(row.ID))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(rows)) + "\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| %s |", r.Name)
		for _, row := range rows {
			fmt.Fprintf(&b, " %s |", r.cell(row.ID))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// states are the words of the cells.
var states = map[try.State]string{
	try.Holds: "holds", try.Violated: "**violated**", try.Inconclusive: "inconclusive", try.NotClaimed: "no",
}

// cell is the result of a row. It links what the documentation says of it.
func (r result) cell(id string) string {
	text := states[r.score(id).State]
	if r.score(id).State == try.NotClaimed && !r.applies(id) {
		return "n/a"
	}
	if limit, documented := r.limit(experiments.Number(id)); documented {
		return fmt.Sprintf("[%s](%s)", text, limit.URL)
	}
	return text
}

// applies is false of a row for other servers than those of the lock.
func (r result) applies(id string) bool {
	switch row := try.Rows()[slices.IndexFunc(try.Rows(), func(row try.Row) bool { return row.ID == id })]; row.Claim.Name {
	case "store " + protocol.RedLock:
		return r.Claims.Store == protocol.RedLock
	case restartClaim:
		return !r.Claims.Tokens
	}
	return true
}

// restartClaim is the claim of T11: the lab restarts no other servers.
const restartClaim = "tokens over redis or redlock"

func (r result) score(id string) try.Score {
	i := slices.IndexFunc(r.Rows, func(s try.Score) bool { return s.ID == id })
	if i < 0 {
		return try.Score{ID: id, State: try.Inconclusive}
	}
	return r.Rows[i]
}

// violation is a row of a lock that does not hold.
type violation struct {
	result
	try.Score
	Number string
	Limit  string
	Better string // other ways to use the library, with which the row holds
}

func violationsOf(all []result) (found []violation) {
	for _, r := range all {
		for _, score := range r.Rows {
			if score.State != try.Violated && score.State != try.Inconclusive || !judges(score.ID) {
				continue
			}
			v := violation{result: r, Score: score, Number: experiments.Number(score.ID), Limit: "-"}
			if limit, documented := r.limit(v.Number); documented {
				v.Limit = fmt.Sprintf("[%s](%s)", limit.Says, limit.URL)
			}
			v.Better = names(keep(all, func(other result) bool {
				return other.Of == r.Of && other.score(score.ID).State == try.Holds
			}))
			v.Why = strings.ReplaceAll(experiments.OneLine(v.Why), "|", `\|`)
			found = append(found, v)
		}
	}
	return found
}

// judges is false of the row that only measures.
func judges(id string) bool {
	return !slices.ContainsFunc(try.Rows(), func(row try.Row) bool { return row.ID == id && row.Measures })
}

// cost is what a lock has needed in the row that measures.
type cost struct {
	Name               string
	Alone, Four, Burst string // packets per section
	Granted            string // sections of the burst
}

func costsOf(all []result) (costs []cost) {
	const id = "T15-cost"
	for _, r := range all {
		measured := func(name, variant string) string {
			for _, m := range r.score(id).Measures {
				if m.Name == name && m.Variant == variant {
					return m.Text(m.Median())
				}
			}
			return "-"
		}
		const packets, sections = "packets per section", "sections"
		granted := measured(sections, "burst of 666 requests")
		if why := r.score(id).Why; why != "" {
			granted = experiments.OneLine(why)
		}
		costs = append(costs, cost{
			r.Name, measured(packets, "one process"), measured(packets, "four processes"), measured(packets, "burst of 666 requests"), granted,
		})
	}
	return costs
}

// whenOf says when the locks were tried, and how slow the machine was.
func whenOf(all []result) string {
	const day = "2006-01-02"
	first, last := all[0], all[0]
	low, high, took := all[0].Pace, all[0].Pace, 0.0
	for _, r := range all {
		if r.Ended.Before(first.Ended) {
			first = r
		}
		if r.Ended.After(last.Ended) {
			last = r
		}
		low, high, took = min(low, r.Pace), max(high, r.Pace), took+r.Took
	}
	days := first.Ended.Format(day)
	if to := last.Ended.Format(day); to != days {
		days += " to " + to
	}
	return fmt.Sprintf("%s (%.0f minutes of trials). The machine needed %.1f to %.1f times as long as a quiet one",
		days, took/60, float64(low), float64(high))
}

// serversOf are the programs that served, with their versions.
func serversOf(all []result) string {
	var programs []string
	for _, r := range all {
		if r.Server != "" && !slices.Contains(programs, r.Server) {
			programs = append(programs, r.Server)
		}
	}
	slices.Sort(programs)
	return strings.Join(programs, ", ")
}

// rungsOf is the part of the workshop: the steps of the exercise, and what each lock on the way violates.
func rungsOf(steps []result) string {
	var b strings.Builder
	for n, step := range try.Exercise {
		fmt.Fprintf(&b, "**Step %d, %s.** %s The rows are %s.", n+1, step.Name, step.Defect, strings.Join(step.Rows, ", "))
		if len(step.Claims) > 0 {
			fmt.Fprintf(&b, " First claim %s.", strings.Join(step.Claims, ", "))
		}
		fmt.Fprintf(&b, "\n\n<details><summary>Hint</summary>\n\n%s\n\n</details>\n\n", step.Task)
	}
	b.WriteString("| lock | rows that hold | violated | not claimed |\n|---|--:|---|---|\n")
	for _, r := range steps {
		of := func(state try.State) string {
			var all []string
			for _, score := range r.Rows {
				if score.State == state {
					all = append(all, experiments.Number(score.ID))
				}
			}
			return cmp.Or(strings.Join(all, ", "), "none")
		}
		name := strings.TrimPrefix(r.Claims.Name, "rung ")
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", name, r.Count(try.Holds), of(try.Violated), of(try.NotClaimed))
	}
	fmt.Fprintf(&b, "\nThese are [our scorecards](../examples/locks/scorecards) of the five locks, of %s.\n",
		steps[0].Ended.Format("2006-01-02"))
	return b.String()
}
