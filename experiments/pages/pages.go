// Package pages writes the documents that are generated from the experiments and their saved runs: a page for each, their
// index, and the errata of the articles. Nothing in them is typed by hand.
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
	"locklab/history"
)

//go:embed *.md.tmpl
var sources embed.FS

// generated stands in every page.
const generated = "<!-- written by `make pages` from the code and a saved run; do not edit -->"

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"bounds":  bounds,
	"cell":    cell,
	"inline":  inline,
	"fenced":  fenced,
	"lanes":   func(e []history.Event) string { return fenced(history.Timelines(e)) },
	"seconds": func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
}).ParseFS(sources, "*.md.tmpl"))

// page is an experiment with its newest run, if there is one.
type page struct {
	Generated  string
	Experiment experiments.Experiment
	Saved      bool
	Record     experiments.Record
	Judgement  experiments.Judgement
	Orders     []experiments.Explored // every order of its locks' steps
}

// arm is an arm's judgement, with the time that it took.
type arm struct {
	experiments.VariantJudgement
	Took time.Duration
}

// Arms are those of the run.
func (p page) Arms() (all []arm) {
	for _, a := range p.Judgement.Variants {
		all = append(all, arm{a, p.Record.TookBy(a.Name)})
	}
	return all
}

// Command runs the experiment again.
func (p page) Command() string {
	if p.Record.Command != "" {
		return p.Record.Command
	}
	return "go run ./cmd/app lab run " + p.Experiment.ID
}

// group is the experiments below one headline.
type group struct {
	Title string
	Pages []page
}

// All makes the pages, by their path below docs. It tries every order of the locks' steps for them, which ends with ctx.
func All(ctx context.Context, all []experiments.Experiment, runs []experiments.Saved) (map[string][]byte, error) {
	orders, err := explored(ctx, all)
	if err != nil {
		return nil, err
	}
	made := make(map[string][]byte)
	var list []page
	var groups []group
	for _, e := range all {
		p := newPage(e, runs)
		p.Orders = orders[e.ID]
		list = append(list, p)
		if title := claims.Group(e.ID); len(groups) == 0 || groups[len(groups)-1].Title != title {
			groups = append(groups, group{Title: title})
		}
		last := &groups[len(groups)-1]
		last.Pages = append(last.Pages, p)
		if err := add(made, path(e.ID), "experiment.md.tmpl", p); err != nil {
			return nil, err
		}
	}
	err = errors.Join(
		add(made, path("README"), "index.md.tmpl", map[string]any{"Generated": generated, "Groups": groups}),
		add(made, "errata.md", "errata.md.tmpl", map[string]any{"Generated": generated, "Shown": shown(list), "Others": others(all)}),
	)
	return made, err
}

func newPage(e experiments.Experiment, runs []experiments.Saved) page {
	p := page{Generated: generated, Experiment: e}
	if i := slices.IndexFunc(runs, func(s experiments.Saved) bool { return s.Judgement.Experiment == e.ID }); i >= 0 {
		p.Saved, p.Record, p.Judgement = true, runs[i].Record, runs[i].Judgement
	}
	return p
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
