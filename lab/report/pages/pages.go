// Package pages writes the documents that are generated from the experiments and their saved runs. There is a page for each
// experiment with its pictures, an index, and the errata of the articles. The lesson of a page is the experiment's own file.
// Everything else comes from the code and a run.
package pages

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"locklab/internal/marked"
	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
)

//go:embed *.md.tmpl
var sources embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"cell":     cell,
	"inline":   inline,
	"fenced":   fenced,
	"group":    claims.Group,
	"title":    title,
	"evidence": evidence,
	"best":     best,
	"starts": func(all []page) []page {
		return slices.DeleteFunc(slices.Clone(all), func(p page) bool { return !p.Experiment.Start })
	},
	"runnable":   func(text string) string { return strings.ReplaceAll(text, "`app ", "`go run ./cmd/app ") },
	"number":     lab.Number,
	"paragraphs": lab.Paragraphs,
	"seconds":    func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
	"sentence": func(p lab.Pace) string {
		text := p.String()
		return strings.ToUpper(text[:1]) + text[1:] + "."
	},
	"shown":     func(v lab.Verdict) string { return outcome.Whole(v).Words },
	"verdicts":  verdicts,
	"generated": func() string { return "<!-- written by `make pages` from the code and a saved run; do not edit -->" },
}).ParseFS(sources, "*.md.tmpl"))

// page is an experiment with its newest run, if there is one.
type page struct {
	Experiment    lab.Experiment
	Saved         bool
	Record        lab.Record
	Judgement     lab.Judgement
	Interleavings []lab.Explored
	Pictures      []picture // of each outcome one
	Others        []picture // the table links them
	Curve         string    // the file of its curve, below the folder of the pages; empty: it has none
	Before, After string    // ids of the experiments beside it; empty: there is none
	links         references
}

// Seconds is how long the experiment takes on a quiet machine, as `app lab list` says. How long its run took stands below the run.
func (p page) Seconds() int { return max(1, int(math.Round(p.Experiment.Takes.Seconds()))) }

// Named is the name of a variant, with a link to its drawing if the page does not show it.
func (p page) Named(variant string) string {
	for _, other := range p.Others {
		if other.Name == variant {
			return fmt.Sprintf("[%s](%s)", strings.NewReplacer("[", `\[`, "]", `\]`).Replace(cell(variant)), other.File)
		}
	}
	return cell(variant)
}

// All makes the pages and their pictures, by their path below docs. It tries every interleaving of the locks' steps for them,
// which ends with ctx.
func All(ctx context.Context, all []lab.Experiment, runs []lab.Saved) (map[string][]byte, error) {
	interleavings, err := exploreInterleavings(ctx, all)
	if err != nil {
		return nil, err
	}
	made := make(map[string][]byte)
	var list []page
	for n, e := range all {
		p := page{Experiment: e, Interleavings: interleavings[e.ID], links: referencesTo(all)}
		p.Before, p.After = neighbours(all, n)
		if i := slices.IndexFunc(runs, func(s lab.Saved) bool { return s.Judgement.Experiment == e.ID }); i >= 0 {
			p.Saved, p.Record, p.Judgement = true, runs[i].Record, runs[i].Judgement
			drawn, err := pictures(p)
			if err != nil {
				return nil, err
			}
			p.Pictures, p.Others = onePerOutcome(drawn)
			svg, err := html.CurveSVG(runs[i])
			if err != nil {
				return nil, err
			}
			if svg != nil {
				p.Curve = images + "/" + e.ID + "-curve.svg"
				made[filepath.Join("experiments", p.Curve)] = svg
			}
		}
		for _, drawn := range slices.Concat(p.Pictures, p.Others) {
			made[filepath.Join("experiments", drawn.File)] = drawn.svg
		}
		list = append(list, p)
		err = errors.Join(err, add(made, path(e.ID), "experiment.md.tmpl", p))
	}
	err = errors.Join(err,
		add(made, path("README"), "index.md.tmpl", list),
		add(made, "errata.md", "errata.md.tmpl", map[string]any{"Pages": list, "Others": errata}),
	)
	return made, err
}

// verdicts counts them, and names the experiments that are not as predicted.
func verdicts(all []page) string {
	expected := 0
	var parts []string
	for _, p := range all {
		switch {
		case !p.Saved:
			parts = append(parts, lab.Number(p.Experiment.ID)+" not run yet")
		case p.Judgement.Verdict == lab.AsExpected:
			expected++
		default:
			parts = append(parts, lab.Number(p.Experiment.ID)+" "+p.Judgement.Verdict.String())
		}
	}
	return strings.Join(append([]string{fmt.Sprintf("%d as predicted", expected)}, parts...), ", ")
}

// neighbours are the ids of the experiments before and after one; empty: there is none.
func neighbours(all []lab.Experiment, n int) (before, after string) {
	if n > 0 {
		before = all[n-1].ID
	}
	if n+1 < len(all) {
		after = all[n+1].ID
	}
	return before, after
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

// Write writes the pages and pictures below docs, and removes the pictures of earlier runs.
func Write(docs string, made map[string][]byte) error {
	if err := os.MkdirAll(filepath.Join(docs, "experiments", images), 0o755); err != nil {
		return err
	}
	for _, name := range below(docs, filepath.Join("experiments", images, "*.svg")) {
		if made[name] == nil {
			if err := os.Remove(filepath.Join(docs, name)); err != nil {
				return err
			}
		}
	}
	for name, text := range made {
		if err := os.WriteFile(filepath.Join(docs, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Losing returns the experiments without a run among runs whose pages below docs have pictures, and would lose them.
func Losing(docs string, all []lab.Experiment, runs []lab.Saved) (ids []string) {
	for _, e := range all {
		of := func(s lab.Saved) bool { return s.Record.Experiment == e.ID }
		if !slices.ContainsFunc(runs, of) && len(below(docs, filepath.Join("experiments", images, e.ID+"-*.svg"))) > 0 {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// below is the files below docs that match a pattern, by their path below docs.
func below(docs, pattern string) (names []string) {
	there, _ := filepath.Glob(filepath.Join(docs, pattern)) // the patterns are ours
	for _, name := range there {
		if name, err := filepath.Rel(docs, name); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// title is the title of an experiment's page: "L01 · No expiry".
func title(e lab.Experiment) string { return lab.Number(e.ID) + " · " + e.Title }

// cell makes of any text one that fits into a table.
func cell(text string) string { return marked.Cell(inline(text)) }

// inline makes of any text one that fits into a line.
func inline(text string) string {
	return strings.TrimRight(lab.OneLine(strings.TrimSpace(text)), ".")
}

// fenced makes of any text one that fits into a fenced block.
func fenced(text string) string {
	return lab.PrintableLines(strings.Trim(strings.ReplaceAll(text, "```", "'''"), "\n"))
}
