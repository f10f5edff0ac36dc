package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/scorecard"
)

const (
	page         = "docs/libraries.md"
	exercisePage = "docs/exercise.md"
)

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

// writePages writes the tables of docs/libraries.md, and the rungs of the exercise, from the saved scorecards.
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
	tables, err := tablesOf(all)
	if err != nil {
		return err
	}
	return errors.Join(marked.UpdateAll(page, tables), marked.Update(exercisePage, "rungs", rungsOf(steps)))
}

// tablesOf returns the tables of docs/libraries.md by the names of their blocks.
func tablesOf(all []result) (map[string]string, error) {
	tried := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Scorecard == nil })
	if len(tried) == 0 {
		return nil, errors.New("no lock was tried")
	}
	must, may := rowsOf()
	return map[string]string{
		"tried": caption(tried), "ways": waysTable(all), "must": scoreTable(tried, must), "may": scoreTable(tried, may),
		"violations": violationTable(tried), "costs": costTable(tried), "limits": limitTable(tried),
	}, nil
}

// caption says when the locks were tried, on which servers, and how slow the machine was.
func caption(all []result) string {
	fast, slow, took := all[0].Pace, all[0].Pace, 0.0
	var days, servers []string
	for _, r := range all {
		fast, slow, took = min(fast, r.Pace), max(slow, r.Pace), took+r.Took
		days, servers = append(days, r.Ended.Format(time.DateOnly)), append(servers, r.Server)
	}
	slices.Sort(days)
	slices.Sort(servers)
	servers = slices.DeleteFunc(slices.Compact(servers), func(server string) bool { return server == "" })
	if days = slices.Compact(days); len(days) > 1 {
		days = []string{days[0], days[len(days)-1]}
	}
	return marked.Table(4, []string{"tried on", "took", "slowdown (a quiet machine: 1)", "servers"}, [][]string{{
		strings.Join(days, " to "), fmt.Sprintf("%.0f minutes", took/60), fmt.Sprintf("%.1f to %.1f", float64(fast), float64(slow)),
		strings.Join(servers, ", "),
	}})
}

// waysTable says how each lock is used. A lock that was not tried has the reason.
func waysTable(all []result) string {
	var rows [][]string
	for _, r := range all {
		usage, title, store := r.Of.Normal, strings.TrimSpace(r.Of.Title+" "+r.Version), ""
		if r.Best {
			usage = "the same"
		}
		settings := r.Settings
		if r.Scorecard == nil {
			settings = "not tried: " + marked.Cell(r.Left)
		} else {
			store = ", " + r.Claims.Store
		}
		rows = append(rows, []string{r.Name, fmt.Sprintf("%s (%s%s)", title, r.Language, store), usage, settings})
	}
	columns := []string{"name", "library, version", "how its README uses it, and the defaults", "what differs here"}
	return marked.Table(len(columns), columns, rows)
}

// rowsOf are the rows that every lock must keep, and those that a lock may claim.
func rowsOf() (must, may []scorecard.Row) {
	for _, row := range scorecard.Rows() {
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

// scoreTable lists the promises of rows, and below them a line for each lock with a cell for each row.
func scoreTable(all []result, rows []scorecard.Row) string {
	promises, head := make([][]string, len(rows)), []string{"lock"}
	columns := []string{"row", "promise"}
	if rows[0].Claim.Name != "" {
		columns = append(columns, "claimed as")
	}
	for i, row := range rows {
		promises[i] = []string{row.ID, row.Promise, "`" + row.Claim.Name + "`"}[:len(columns)]
		head = append(head, lab.Number(row.ID))
	}
	var lines [][]string
	for _, r := range all {
		line := []string{r.Name}
		for _, row := range rows {
			line = append(line, r.cell(row))
		}
		lines = append(lines, line)
	}
	return marked.Table(len(columns), columns, promises) + "\n" + marked.Table(len(head), head, lines)
}

// states are the words of the cells.
var states = map[scorecard.State]string{
	scorecard.Holds: "holds", scorecard.Violated: "**violated**", scorecard.Inconclusive: "inconclusive", scorecard.NotClaimed: "no",
}

// cell is the result of a row. It links what the documentation says of it.
func (r result) cell(row scorecard.Row) string {
	state := r.score(row.ID).State
	if state == scorecard.NotClaimed && !r.applies(row) {
		return "n/a"
	}
	if limit, documented := r.limit(lab.Number(row.ID)); documented {
		return fmt.Sprintf("[%s](%s)", states[state], limit.URL)
	}
	return states[state]
}

// applies is false of a row that is not tried over the servers of the lock, whatever the lock claims.
func (r result) applies(row scorecard.Row) bool {
	return row.Claim.Made(protocol.Claims{Store: r.Claims.Store, Renews: true, Tokens: true, Tells: true, Extends: true, Messages: true})
}

func (r result) score(id string) scorecard.Score {
	i := slices.IndexFunc(r.Rows, func(s scorecard.Score) bool { return s.ID == id })
	if i < 0 {
		return scorecard.Score{ID: id, State: scorecard.Inconclusive}
	}
	return r.Rows[i]
}

// violationTable has the rows that were violated or could not be judged, and other ways to use the library with which the row holds.
func violationTable(all []result) string {
	var rows [][]string
	for _, r := range all {
		for _, score := range r.Rows {
			if score.State != scorecard.Violated && score.State != scorecard.Inconclusive || measures(score.ID) {
				continue
			}
			number, documented := lab.Number(score.ID), "-"
			if limit, found := r.limit(number); found {
				documented = fmt.Sprintf("[%s](%s)", limit.Says, limit.URL)
			}
			rows = append(rows, []string{
				r.Name, fmt.Sprintf("%s %s", score.ID, score.State), marked.Cell(lab.OneLine(score.Why)), r.holdsWith(score.ID, all),
				documented, fmt.Sprintf("`make library NAME=%s ROW=%s`", r.Name, number),
			})
		}
	}
	columns := []string{"lock", "row", "what was seen", "holds with", "its documentation", "reproduce"}
	return marked.Table(len(columns), columns, rows)
}

// holdsWith names the other ways to use a library over the same servers with which a row holds, and the rows that each of them violates.
func (r result) holdsWith(id string, all []result) string {
	var names []string
	for _, other := range all {
		if other.Of != r.Of || other.Claims.Store != r.Claims.Store || other.score(id).State != scorecard.Holds {
			continue
		}
		name := other.Name
		if violated := other.rowNumbers(scorecard.Violated); len(violated) > 0 {
			name += " (violates " + strings.Join(violated, ", ") + ")"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// rowNumbers are those of the rows with a state.
func (r result) rowNumbers(state scorecard.State) (numbers []string) {
	for _, score := range r.Rows {
		if score.State == state {
			numbers = append(numbers, lab.Number(score.ID))
		}
	}
	return numbers
}

// measures is true of the row that only measures.
func measures(id string) bool {
	return slices.ContainsFunc(scorecard.Rows(), func(row scorecard.Row) bool { return row.ID == id && row.Measures })
}

// costTable has packets per section, and how many requests of the burst were granted.
func costTable(all []result) string {
	const packets, burst = "packets per section", "burst of 666 requests"
	var rows [][]string
	for _, r := range all {
		score := r.score("T15-cost")
		measured := func(name, variant string) string {
			for _, m := range score.Measures {
				if m.Name == name && m.Variant == variant {
					return m.Text(m.Median())
				}
			}
			return "-"
		}
		granted := measured("sections", burst)
		if score.Why != "" {
			granted = marked.Cell(lab.OneLine(score.Why))
		}
		rows = append(rows, []string{
			r.Name, measured(packets, "one process"), measured(packets, "four processes"), measured(packets, burst), granted,
		})
	}
	return marked.Table(1, []string{"lock", "one process", "four processes", "burst", "granted"}, rows)
}

// limitTable has what the documentation of each library says.
func limitTable(all []result) string {
	var rows [][]string
	var seen []*Library
	for _, r := range all {
		if slices.Contains(seen, r.Of) {
			continue
		}
		seen = append(seen, r.Of)
		for _, limit := range r.Of.Limits {
			rows = append(rows, []string{r.Of.Title, limit.Rows, fmt.Sprintf("[%s](%s)", limit.Says, limit.URL)})
		}
	}
	return marked.Table(3, []string{"library", "rows", "limit"}, rows)
}

// rungsOf is the part of the exercise: the steps of the exercise, and what each lock on the way violates.
func rungsOf(steps []result) string {
	var b strings.Builder
	for n, step := range scorecard.Exercise {
		fmt.Fprintf(&b, "**Step %d, %s.** %s The rows are %s.", n+1, step.Name, step.Defect, strings.Join(step.Rows, ", "))
		if len(step.Claims) > 0 {
			fmt.Fprintf(&b, " First claim %s.", strings.Join(step.Claims, ", "))
		}
		fmt.Fprintf(&b, "\n\n<details><summary>Hint</summary>\n\n%s\n\n</details>\n\n", step.Task)
	}
	b.WriteString("| lock | rows that hold | violated | not claimed |\n|---|--:|---|---|\n")
	for _, r := range steps {
		of := func(state scorecard.State) string { return cmp.Or(strings.Join(r.rowNumbers(state), ", "), "none") }
		name := strings.TrimPrefix(r.Claims.Name, "rung ")
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", name, r.Count(scorecard.Holds), of(scorecard.Violated), of(scorecard.NotClaimed))
	}
	fmt.Fprintf(&b, "\nThese are [our scorecards](../examples/locks/scorecards) of the five locks, of %s.\n",
		steps[0].Ended.Format("2006-01-02"))
	return b.String()
}
