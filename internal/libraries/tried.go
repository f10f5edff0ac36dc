package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"locklab/experiments/try"
)

const (
	folder = "examples/locks/scorecards"
	most   = 3 // times that an inconclusive row is tried: a busy machine may be the cause
)

// Record is what is saved of a lock.
type Record struct {
	Version string `json:"version,omitempty"`  // of the library
	Left    string `json:"left_out,omitempty"` // why it was not tried
	*try.Scorecard
}

// saveAll tries locks one after another. A lock that cannot be built or started is left out, and its record says why.
func saveAll(ctx context.Context, chosen []Lock) error {
	if err := build(ctx, lab); err != nil {
		return err
	}
	built := make(map[string]error)
	for n, l := range chosen {
		fmt.Fprintf(os.Stderr, "%d/%d %s: %s\n", n+1, len(chosen), l.Name, l.Command)
		if _, done := built[l.Language]; !done {
			built[l.Language] = build(ctx, l.Language)
		}
		err := built[l.Language]
		var r Record
		if err == nil {
			r, err = l.tried(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			r = Record{Left: err.Error()}
		}
		if err := r.save(l); err != nil {
			return err
		}
	}
	return nil
}

// tried is the scorecard of a lock. Rows that are inconclusive are tried again.
func (l Lock) tried(ctx context.Context) (r Record, err error) {
	if r.Version, err = l.version(); err != nil {
		return r, err
	}
	if r.Scorecard, err = l.once(ctx, nil); err != nil {
		return r, err
	}
	for range most - 1 {
		var again []string
		for _, row := range r.Rows {
			if row.State == try.Inconclusive && judges(row.ID) {
				again = append(again, row.ID)
			}
		}
		if len(again) == 0 {
			break
		}
		newer, err := l.once(ctx, again)
		if err != nil {
			return r, err
		}
		r.Take(newer)
	}
	return r, nil
}

// once runs `app lab try`, for all rows or some of them.
func (l Lock) once(ctx context.Context, rows []string) (*try.Scorecard, error) {
	argv := []string{"lab", "try", "--json", "--name", l.Name}
	if len(rows) > 0 {
		argv = append(argv, "--only", strings.Join(rows, ","))
	}
	var out, said bytes.Buffer
	c := exec.CommandContext(ctx, app, slices.Concat(argv, []string{"--"}, l.argv())...)
	c.Stdout, c.Stderr = &out, &said
	if err := judged(c.Run()); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	card := new(try.Scorecard)
	return card, json.Unmarshal(out.Bytes(), card)
}

func file(l Lock) string { return filepath.Join(folder, l.Name+".json") }

// save leaves the variants out of rows that have no violation.
func (r Record) save(l Lock) error {
	if r.Scorecard != nil {
		r.Report = ""
		for i, row := range r.Rows {
			if row.State != try.Violated {
				r.Rows[i].Variants = nil
			}
		}
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file(l), append(text, '\n'), 0o644)
}

func saved(l Lock) (r Record, err error) {
	text, err := os.ReadFile(file(l))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Record{Left: "it was not tried yet"}, nil
	case err != nil:
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}
