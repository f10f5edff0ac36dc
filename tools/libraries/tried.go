package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"locklab/lab/scorecard"
)

const (
	folder = "examples/locks/scorecards"
	most   = 3 // times that an inconclusive row is tried: a busy machine may be the cause
)

// Record is what is saved of a lock.
type Record struct {
	Version string `json:"version,omitempty"`  // of the library
	Left    string `json:"left_out,omitempty"` // why it was not tried
	*scorecard.Scorecard
}

// saveAll tries locks one after another. A lock that cannot be built or started is left out: its record says why, unless it has a scorecard
// of before.
func saveAll(ctx context.Context, chosen []Lock, rows []string) (failed error) {
	if err := build(ctx, itself); err != nil {
		return err
	}
	built := make(map[string]error)
	for n, l := range chosen {
		fmt.Fprintf(os.Stderr, "%d/%d %s: %s\n", n+1, len(chosen), l.Name, l.Command)
		if _, done := built[l.Language]; !done {
			built[l.Language] = build(ctx, l.Language)
		}
		before, err := saved(l)
		if err = cmp.Or(err, built[l.Language]); err == nil {
			err = l.try(ctx, before, rows)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", l.Name, err))
			if before.Scorecard == nil {
				failed = errors.Join(failed, Record{Left: err.Error()}.save(l))
			}
		}
	}
	return failed
}

// try tries a lock and saves its scorecard. With rows only these are tried, and the others are those of before.
func (l Lock) try(ctx context.Context, before Record, rows []string) error {
	r, err := before, error(nil)
	if len(rows) == 0 || r.Scorecard == nil {
		r, err = l.tried(ctx)
	} else if newer, failed := l.once(ctx, rows); failed == nil {
		r.Take(newer)
	} else {
		err = failed
	}
	if r.Scorecard == nil {
		return err
	}
	return errors.Join(err, r.save(l))
}

// tried is the scorecard of a lock. Rows that are inconclusive are tried again. With an error there may be a scorecard of the first time.
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
			if row.State == scorecard.Inconclusive && !measures(row.ID) {
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
func (l Lock) once(ctx context.Context, rows []string) (*scorecard.Scorecard, error) {
	argv := []string{"lab", "try", "--json", "--name", l.Name}
	if len(rows) > 0 {
		argv = append(argv, "--only", strings.Join(rows, ","))
	}
	var out, said bytes.Buffer
	c := program(ctx, l, argv)
	c.Stdout, c.Stderr = &out, &said
	if err := judged(c.Run()); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	card := new(scorecard.Scorecard)
	err := json.Unmarshal(out.Bytes(), card)
	if err == nil && card.Stopped != "" {
		err = errors.New(card.Stopped)
	}
	return card, err
}

func file(l Lock) string { return filepath.Join(folder, l.Name+".json") }

// save leaves the variants out of rows that have no violation.
func (r Record) save(l Lock) error {
	if r.Scorecard != nil {
		r.Report = ""
		for i, row := range r.Rows {
			if row.State != scorecard.Violated {
				r.Rows[i].Variants = nil
			}
		}
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	part := file(l) + ".part"
	if err := os.WriteFile(part, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, file(l))
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
