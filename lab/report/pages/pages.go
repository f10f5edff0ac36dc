// Package pages writes the documents that are generated from the experiments and their committed results: a page for each experiment, an
// index, the errata of the articles, and the tables of the matrix. The lesson of a page is the experiment's own file. Everything else
// comes from the code and the result. A result and its drawings are made from a saved run, once: see [Take].
package pages

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
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
	"locklab/lab/report/matrix"
	"locklab/lab/report/outcome"
)

//go:embed *.md.tmpl
var sources embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"cell":   cell,
	"inline": inline,
	"fenced": fenced,
	"group":  claims.Group,
	"title":  title,
	"starts": func(all []page) []page {
		return slices.DeleteFunc(slices.Clone(all), func(p page) bool { return !p.Experiment.Start })
	},
	"runnable": func(text string) string { return strings.ReplaceAll(text, "`app ", "`go run ./cmd/app ") },
	"number":   lab.Number,
	"needs": func(names string) string { // the folder says what is to be built, and how
		return strings.ReplaceAll(names, string(lab.ArticlesJava), "[Java 17 and Maven](../../examples/articles/README.md) for `make articles`")
	},
	"leftOut":    func(j lab.Judgement) []string { return lab.VariantsLeftOut(j) },
	"paragraphs": lab.Paragraphs,
	"seconds":    func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
	"sentence": func(p lab.Pace) string {
		text := p.String()
		return strings.ToUpper(text[:1]) + text[1:] + "."
	},
	"shown":    func(v lab.Verdict) string { return outcome.Whole(v).Words },
	"verdicts": verdicts,
	"generated": func() string {
		return "<!-- written by `make pages` from the code and docs/experiments/results; do not edit -->"
	},
}).ParseFS(sources, "*.md.tmpl"))

// page is an experiment with its result, if there is one.
type page struct {
	Result
	Pictures      []picture
	Curve         string // the file of its curve, below the folder of the pages; empty: it has none
	Before, After string // ids of the experiments beside it; empty: there is none
	links         references
}

// Seconds is how long the experiment takes on a quiet machine, as `app lab list` says. How long its run took stands below the run.
func (p page) Seconds() int { return max(1, int(math.Round(p.Experiment.Takes.Seconds()))) }

// Generate makes what `make pages` writes, by its path below root, which is the folder of the checkout. It reads the committed results, and
// the two pages that have the matrix between markers. A drawing that no result has any more has no text: see [Write].
func Generate(root string, all []lab.Experiment) (map[string][]byte, error) {
	results, err := Load(root, all)
	if err != nil {
		return nil, err
	}
	made, err := render(results)
	if err != nil {
		return nil, err
	}
	m := matrix.Of(all, Runs(results))
	for name, blocks := range map[string]map[string]string{
		"README.md":                        {"matrix": m.Narrow("docs/", "v3", "v4")},
		filepath.Join("docs", "matrix.md"): {"matrix": m.Whole(), "reasons": m.Reasons()},
	} {
		if made[name], err = marked.Updated(filepath.Join(root, name), blocks); err != nil {
			return nil, err
		}
	}
	for _, name := range leftOver(root, results, made) {
		made[name] = nil
	}
	return made, nil
}

// leftOver are the drawings that no result has.
func leftOver(root string, results []Result, made map[string][]byte) (names []string) {
	needed := make(map[string]bool)
	for _, r := range results {
		for _, p := range r.pictures() {
			needed[filepath.Join(folder, p.File)] = true
		}
	}
	there, _ := filepath.Glob(filepath.Join(root, folder, images, "*.svg")) // the pattern is ours
	for _, name := range there {
		if name, err := filepath.Rel(root, name); err == nil && made[name] == nil && !needed[name] {
			names = append(names, name)
		}
	}
	return names
}

// render makes the pages of experiments, their index and the errata.
func render(results []Result) (map[string][]byte, error) {
	made := make(map[string][]byte)
	var list []page
	for n, r := range results {
		p := page{Result: r, Pictures: r.pictures(), links: referencesTo(results)}
		p.Before, p.After = neighbours(results, n)
		curve, err := html.CurveSVG(r.run())
		if err != nil {
			return nil, err
		}
		if curve != nil {
			p.Curve = images + "/" + r.Experiment.ID + "-curve.svg"
			made[filepath.Join(folder, p.Curve)] = curve
		}
		list = append(list, p)
		if err := add(made, PageOf(r.Experiment.ID), "experiment.md.tmpl", p); err != nil {
			return nil, err
		}
	}
	return made, errors.Join(
		add(made, PageOf("README"), "index.md.tmpl", list),
		add(made, filepath.Join("docs", "errata.md"), "errata.md.tmpl", map[string]any{"Pages": list, "Others": errata}),
	)
}

// verdicts counts them, and names the experiments that are not as predicted.
func verdicts(all []page) string {
	expected := 0
	var parts []string
	for _, p := range all {
		switch {
		case !p.Saved():
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
func neighbours(all []Result, n int) (before, after string) {
	if n > 0 {
		before = all[n-1].Experiment.ID
	}
	if n+1 < len(all) {
		after = all[n+1].Experiment.ID
	}
	return before, after
}

// folder has the pages of the experiments, below the root of the checkout.
var folder = filepath.Join("docs", "experiments")

// PageOf is where the page of an experiment is, below the root of the checkout.
func PageOf(id string) string { return filepath.Join(folder, id+".md") }

func add(made map[string][]byte, name, source string, data any) error {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, source, data); err != nil {
		return err
	}
	made[name] = text.Bytes()
	return nil
}

// Write writes the files below root that are new or different, removes those without a text, and returns the names of those that it
// changed.
func Write(root string, files map[string][]byte) (changed []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path, text := filepath.Join(root, name), files[name]
		before, err := os.ReadFile(path)
		switch {
		case text == nil:
			err = os.Remove(path)
		case err == nil && bytes.Equal(before, text):
			continue
		default:
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
		}
		if err != nil {
			return changed, err
		}
		changed = append(changed, name)
	}
	return changed, nil
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
