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
	"locklab/lab/scorecard"
)

const page = "docs/libraries.md"

// result is a lock with its record.
type result struct {
	Lock
	Record
}

// tablesOf returns the tables of docs/libraries.md by the names of their blocks. A lock that was not tried yet is in none.
func tablesOf(locks []Lock) (map[string]string, error) {
	var all []result
	for _, l := range locks {
		r, err := l.saved()
		if err != nil {
			return nil, err
		}
		if r.Scorecard != nil {
			all = append(all, result{l, r})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no lock was tried")
	}
	return map[string]string{
		"tried": caption(all), "ways": waysList(all), "rows": rowTable(all), "scores": scoreTables(all), "violations": violationTable(all),
		"costs": costTable(all),
	}, nil
}

// caption says when the locks were tried, and on which servers.
func caption(all []result) string {
	var days, servers []string
	for _, r := range all {
		days, servers = append(days, r.Ended.Format(time.DateOnly)), append(servers, r.Server)
	}
	slices.Sort(servers)
	return marked.Table(3, []string{"tried from", "to", "servers"}, [][]string{{
		slices.Min(days), slices.Max(days), strings.Join(slices.Compact(servers), ", "),
	}})
}

// waysList says how each lock is used, below its library.
func waysList(all []result) string {
	var text strings.Builder
	for i, r := range all {
		if i == 0 || r.Of != all[i-1].Of {
			fmt.Fprintf(&text, "- **%s** (%s): %s\n", strings.TrimSpace(r.Of.Title+" "+r.Version), r.Language, r.Of.Normal)
		}
		fmt.Fprintf(&text, "  - `%s` (store `%s`): %s\n", r.Name, r.Claims.Store, r.Settings)
	}
	return text.String()
}

// rowTable says what each row of the scorecard is about.
func rowTable(all []result) string {
	var rows [][]string
	for _, row := range claimed(all) {
		claim := "every lock"
		if row.Claim.Name != "" {
			claim = "`" + row.Claim.Name + "`"
		}
		rows = append(rows, []string{lab.Number(row.ID), row.Title, claim})
	}
	return marked.Table(3, []string{"row", "what it tries", "claimed as"}, rows)
}

// claimed are the rows that some lock claims.
func claimed(all []result) []scorecard.Row {
	return slices.DeleteFunc(scorecard.Rows(), func(row scorecard.Row) bool {
		return !slices.ContainsFunc(all, func(r result) bool { return r.claims(row) })
	})
}

// claims reports whether a lock claims a row, which may be newer than its scorecard.
func (r result) claims(row scorecard.Row) bool {
	return row.Claim.Made == nil || row.Claim.Made(r.Claims)
}

// scoreTables has a table for this lab's locks, and one for each language. A table has the columns of the rows that one of its locks tried.
func scoreTables(all []result) string {
	var names []string
	groups := make(map[string][]result)
	for _, r := range all {
		name := r.Language
		if r.Of.Package == "" {
			name = "Our own"
		}
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], r)
	}
	var text strings.Builder
	for i, name := range names {
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "### %s\n\n%s", name, scoreTable(groups[name]))
	}
	return text.String()
}

// scoreTable has a line for each lock, with a cell for each row that one of them tried.
func scoreTable(all []result) string {
	rows := slices.DeleteFunc(scorecard.Rows(), func(row scorecard.Row) bool {
		return !slices.ContainsFunc(all, func(r result) bool { return r.cell(row) != untried })
	})
	columns := []string{"lock"}
	for _, row := range rows {
		columns = append(columns, lab.Number(row.ID))
	}
	var lines [][]string
	for _, r := range all {
		line := []string{r.Name}
		for _, row := range rows {
			line = append(line, r.cell(row))
		}
		lines = append(lines, line)
	}
	return marked.Table(len(columns), columns, lines)
}

const untried = "–"

// cell is the result of a row.
func (r result) cell(row scorecard.Row) string {
	if !r.claims(row) {
		return untried
	}
	cells := map[scorecard.State]string{scorecard.Holds: "✓", scorecard.Violated: "**✗**", scorecard.Inconclusive: "?"}
	return cmp.Or(cells[r.score(row.ID).State], untried)
}

func (r result) score(id string) scorecard.Score {
	i := slices.IndexFunc(r.Rows, func(s scorecard.Score) bool { return lab.Number(s.ID) == lab.Number(id) })
	if i < 0 {
		return scorecard.Score{ID: id, State: scorecard.NotTried}
	}
	return r.Rows[i]
}

// violationTable has the rows that were violated or could not be judged, and other ways to use the library with which the row holds.
func violationTable(all []result) string {
	var found []violation
	for _, r := range all {
		for _, score := range r.Rows {
			if score.State != scorecard.Violated && score.State != scorecard.Inconclusive {
				continue
			}
			v := violation{
				locks: []string{r.Name}, rows: []string{score.ID}, state: score.State,
				seen: marked.Cell(lab.OneLine(score.Why)), holdsWith: r.holdsWith(score.ID, all), documented: undocumented,
			}
			if limit, is := r.limit(lab.Number(score.ID)); is {
				v.documented = fmt.Sprintf("[%s](%s)", limit.Says, limit.URL)
			}
			found = append(found, v)
		}
	}
	found = joined(found, func(a, b violation) bool { return slices.Equal(a.rows, b.rows) })
	found = joined(found, func(a, b violation) bool { return slices.Equal(a.locks, b.locks) })
	var rows [][]string
	for _, v := range found {
		if len(v.rows) > 1 { // the title of one says what it is about
			for i, id := range v.rows {
				v.rows[i] = lab.Number(id)
			}
		}
		row := fmt.Sprintf("%s %s", strings.Join(v.rows, ", "), v.state)
		rows = append(rows, []string{strings.Join(v.locks, ", "), row, v.seen, v.holdsWith, v.documented})
	}
	columns := []string{"lock", "row", "what was seen", "holds with", "its documentation"}
	return marked.Table(len(columns), columns, rows)
}

// violation is what rows of locks have in common: why they do not hold.
type violation struct {
	locks, rows                 []string
	state                       scorecard.State
	seen, holdsWith, documented string // seen is that of the first lock in the first row
}

const undocumented = "-"

// joined joins violations that are the same in one respect, and have one reason.
func joined(all []violation, same func(a, b violation) bool) (some []violation) {
	for _, v := range all {
		i := slices.IndexFunc(some, func(o violation) bool {
			return same(o, v) && v.documented != undocumented && o.documented == v.documented && o.holdsWith == v.holdsWith && o.state == v.state
		})
		if i < 0 {
			some = append(some, v)
			continue
		}
		some[i].locks = union(some[i].locks, v.locks)
		some[i].rows = union(some[i].rows, v.rows)
	}
	return some
}

func union(a, b []string) []string {
	return append(a, slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) })...)
}

// holdsWith names the other ways to use a library over the same servers with which a row holds, and the rows that each of them violates.
func (r result) holdsWith(id string, all []result) string {
	var names []string
	for _, other := range all {
		if other.Of != r.Of || other.Claims.Store != r.Claims.Store || other.score(id).State != scorecard.Holds {
			continue
		}
		var violated []string
		for _, score := range other.Rows {
			if score.State == scorecard.Violated {
				violated = append(violated, lab.Number(score.ID))
			}
		}
		name := other.Name
		if len(violated) > 0 {
			name += " (violates " + strings.Join(violated, ", ") + ")"
		}
		names = append(names, name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// costTable has packets per section, and how many requests of the burst were granted.
func costTable(all []result) string {
	const packets, burst = "packets per section", "burst of 666 requests"
	var rows [][]string
	for _, r := range all {
		score := r.score("T15-burst")
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
