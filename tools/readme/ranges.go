package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/marked"
	"locklab/lab/burst"
	"locklab/versions"
)

// round is what one burst of page views, and one of drivers, left.
type round struct {
	version                                string
	number, final, inside, across, winners int
}

var columns = []string{"version", "round", "final", "written twice by one process", "written by both", "winners"}

// encode is the saved form: a comment with the origin, the columns, and a row for each burst.
func encode(origin string, r burst.Results) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "# "+origin)
	w := csv.NewWriter(&b)
	_ = w.Write(columns) // into memory
	for i, v := range r.Pageview {
		row := []string{v.Version}
		for _, n := range []int{v.Round, int(v.Final), v.Inside, v.Across, r.Order[i].Winners} {
			row = append(row, strconv.Itoa(n))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}

func load(file string) (origin string, all []round, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("%w; go run ./tools/readme rounds makes it", err)
	}
	origin, _, _ = strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
	reader := csv.NewReader(bytes.NewReader(text))
	reader.Comment = '#'
	reader.FieldsPerRecord = len(columns)
	rows, err := reader.ReadAll()
	if err == nil && len(rows) < 2 {
		err = errors.New("it has no rounds")
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s is damaged: %w; go run ./tools/readme rounds makes it anew", file, err)
	}
	for _, row := range rows[1:] {
		var n [5]int
		for i := range n {
			if n[i], err = strconv.Atoi(row[i+1]); err != nil {
				return "", nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		all = append(all, round{row[0], n[0], n[1], n[2], n[3], n[4]})
	}
	return origin, all, nil
}

// values are one number of each round of a version, sorted.
type values []int

func valuesOf(all []round, version string, number func(round) int) (sorted values) {
	for _, r := range all {
		if r.version == version {
			sorted = append(sorted, number(r))
		}
	}
	slices.Sort(sorted)
	return sorted
}

func (v values) String() string {
	switch {
	case len(v) == 0:
		return "not run"
	case v[0] == v[len(v)-1]:
		return strconv.Itoa(v[0])
	}
	return fmt.Sprintf("%d to %d", v[0], v[len(v)-1])
}

func final(r round) int   { return r.final }
func winners(r round) int { return r.winners }
func inside(r round) int  { return r.inside }
func across(r round) int  { return r.across }

// summary is the table of README.md.
func summary(all []round) string {
	var rows [][]string
	for _, v := range versions.All() {
		if v.Extra {
			continue
		}
		rows = append(rows, []string{v.Name, v.Summary, valuesOf(all, v.Name, final).String(), valuesOf(all, v.Name, winners).String()})
	}
	columns := []string{"version", "what protects the work", "counter after 666 views", "winners of one order"}
	return marked.Table(2, columns, rows)
}

// details is the table of the workshop: what to expect, and how far one run may be from another.
func details(origin string, all []round) string {
	var rows [][]string
	for _, v := range versions.Names() {
		finals := valuesOf(all, v, final)
		if len(finals) == 0 {
			continue
		}
		row := []string{v, finals.String(), strconv.Itoa(finals[len(finals)/2])}
		for _, number := range []func(round) int{inside, across, winners} {
			row = append(row, valuesOf(all, v, number).String())
		}
		rows = append(rows, row)
	}
	columns := []string{
		"version", "counter after 666 views", "median", "values written twice by one process", "values written by both", "winners",
	}
	return marked.Table(1, columns, rows) + "\nMeasured by " + origin + ".\n"
}
