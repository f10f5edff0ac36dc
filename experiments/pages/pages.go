// Package pages writes the documents that are generated from the experiments and their saved runs. There is a page for each
// experiment, an index, and the errata of the articles. Nothing in them is typed by hand.
package pages

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/terminal"
	"locklab/history"
)

//go:embed *.md.tmpl
var sources embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"bounds":    bounds,
	"cell":      cell,
	"inline":    inline,
	"fenced":    fenced,
	"group":     claims.Group,
	"timelines": func(e []history.Event) string { return fenced(history.Timelines(e)) },
	"seconds":   func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
	"generated": func() string { return "<!-- written by `make pages` from the code and a saved run; do not edit -->" },
}).ParseFS(sources, "*.md.tmpl"))

// page is an experiment with its newest run, if there is one.
type page struct {
	Experiment    experiments.Experiment
	Saved         bool
	Record        experiments.Record
	Judgement     experiments.Judgement
	Interleavings []experiments.Explored
}

// All makes the pages, by their path below docs. It tries every interleaving of the locks' steps for them, which ends with
// ctx.
func All(ctx context.Context, all []experiments.Experiment, runs []experiments.Saved) (map[string][]byte, error) {
	interleavings, err := exploreInterleavings(ctx, all)
	if err != nil {
		return nil, err
	}
	made := make(map[string][]byte)
	var list []page
	for _, e := range all {
		p := page{Experiment: e, Interleavings: interleavings[e.ID]}
		if i := slices.IndexFunc(runs, func(s experiments.Saved) bool { return s.Judgement.Experiment == e.ID }); i >= 0 {
			p.Saved, p.Record, p.Judgement = true, runs[i].Record, runs[i].Judgement
		}
		list = append(list, p)
		err = errors.Join(err, add(made, path(e.ID), "experiment.md.tmpl", p))
	}
	err = errors.Join(err,
		add(made, path("README"), "index.md.tmpl", list),
		add(made, "errata.md", "errata.md.tmpl", map[string]any{"Pages": list, "Others": others(all)}),
	)
	return made, err
}

// path is where the page of an experiment is, below docs.
func path(id string) string { return filepath.Join("experiments", id+".md") }

func add(made map[string][]byte, name, source string, data any) error {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, source, data); err != nil {
		return err
	}
	made[name] = text.Bytes()
	return nil
}

// Write writes the pages below docs.
func Write(docs string, made map[string][]byte) error {
	if err := os.MkdirAll(filepath.Join(docs, "experiments"), 0o755); err != nil {
		return err
	}
	for name, text := range made {
		if err := os.WriteFile(filepath.Join(docs, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Check says which experiment has no page below docs or is not in the index, and which page has no experiment.
func Check(docs string, all []experiments.Experiment) (err error) {
	index, unread := os.ReadFile(filepath.Join(docs, path("README")))
	if unread != nil {
		return unread
	}
	want := []string{path("README")}
	for _, e := range all {
		want = append(want, path(e.ID))
		text, unread := os.ReadFile(filepath.Join(docs, path(e.ID)))
		switch {
		case unread != nil:
			err = errors.Join(err, fmt.Errorf("%s has no page: %w", e.ID, unread))
		case !strings.Contains(string(text), e.Claim):
			err = errors.Join(err, fmt.Errorf("the page of %s has another claim", e.ID))
		case !strings.Contains(string(index), "("+e.ID+".md)"):
			err = errors.Join(err, fmt.Errorf("%s is not in the index", e.ID))
		}
	}
	there, _ := filepath.Glob(filepath.Join(docs, "experiments", "*.md"))
	for _, name := range there {
		if below, _ := filepath.Rel(docs, name); !slices.Contains(want, below) {
			err = errors.Join(err, fmt.Errorf("%s is the page of no experiment", name))
		}
	}
	return err
}

// cell makes of any text one that fits into a table.
func cell(text string) string { return strings.ReplaceAll(inline(text), "|", "\\|") }

// inline makes of any text one that fits into a line.
func inline(text string) string {
	return strings.TrimRight(terminal.OneLine(strings.TrimSpace(text)), ".")
}

// fenced makes of any text one that fits into a fenced block.
func fenced(text string) string {
	return terminal.PrintableLines(strings.Trim(strings.ReplaceAll(text, "```", "'''"), "\n"))
}
