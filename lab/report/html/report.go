// Package html writes what the lab saw as HTML: one file for a run, one for the whole lab. A file is complete: it opens from disk and
// requests nothing from a server, which its policy forbids. Everything that comes from a history is escaped.
//
// What is NOT guaranteed: that time is drawn to scale. A drawing gives each event enough room to show the interleaving; the numbers
// below it are the time.
package html

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"locklab/lab"
	"locklab/lab/report/drawing"
	"locklab/lab/report/outcome"
	"locklab/lab/scorecard"
)

// Run writes the report of one run. back is the address of the page that leads to it; empty: there is none.
func Run(w io.Writer, run lab.Saved, back string) error {
	f := drawing.InReport
	if back != "" {
		f = drawing.Live
	}
	p := newPage(run.Experiment.ID, f, run)
	p.Back = back
	return write(w, p)
}

// Lab writes the report of a whole lab into a folder: all verdicts, then each experiment, then where the articles and a run differ. An
// unexpected verdict comes first. The report links the runs' own reports, which draw more, where they are in the folder. Of a run without
// its record it has the verdict and that link.
func Lab(w io.Writer, folder string, runs []lab.Saved) error {
	p := newPage("The lab", drawing.InLab, worstFirst(runs)...)
	for i := range p.Runs {
		p.Runs[i].Own = ownReport(folder, p.Runs[i].Dir)
	}
	return write(w, p)
}

// toneOf is the tone of the state of a row.
var toneOf = map[scorecard.State]outcome.Tone{
	scorecard.Violated: outcome.Alarm, scorecard.Inconclusive: outcome.Unclear, scorecard.Holds: outcome.Good,
}

// Tried writes the scorecard of a program that was tried: violated promises first, with its timelines.
func Tried(w io.Writer, card *scorecard.Scorecard) error {
	p := newPage(card.Name, drawing.InLab, card.Runs()...)
	p.Tried, p.Counts = card, nil
	for i := range p.Runs {
		of := func(row scorecard.Score) bool { return row.ID == p.Runs[i].Experiment.ID }
		row := card.Rows[slices.IndexFunc(card.Rows, of)]
		p.Runs[i].Verdict, p.Runs[i].Judgement.Why = styled(outcome.Outcome{Words: string(row.State), Tone: toneOf[row.State]}), row.Why
		for j := range p.Runs[i].Variants {
			v := &p.Runs[i].Variants[j]
			v.Promised, v.Verdict.Text = true, v.Seen()
		}
	}
	rank := map[string]int{classes[outcome.Alarm]: -2, classes[outcome.Unclear]: -1}
	slices.SortStableFunc(p.Runs, func(a, b run) int { return cmp.Compare(rank[a.Verdict.Class], rank[b.Verdict.Class]) })
	for _, state := range []scorecard.State{scorecard.Violated, scorecard.Inconclusive, scorecard.Holds} {
		n := card.Count(state)
		p.Counts = append(p.Counts, count{styled(outcome.Outcome{Words: state.Of(n), Tone: toneOf[state]}), n})
	}
	return write(w, p)
}

// worstFirst is the runs with the unexpected ones first, then the inconclusive ones. Otherwise their order stays.
func worstFirst(runs []lab.Saved) []lab.Saved {
	rank := func(s lab.Saved) int {
		return slices.Index([]lab.Verdict{lab.Unexpected, lab.Inconclusive, lab.AsExpected}, s.Judgement.Verdict)
	}
	return slices.SortedStableFunc(slices.Values(runs), func(a, b lab.Saved) int { return cmp.Compare(rank(a), rank(b)) })
}

// ownReport is the address of a run's own report, from a page in folder; empty: there is none.
func ownReport(folder, dir string) string {
	path := filepath.Join(dir, lab.ReportFile)
	inside, err := filepath.Rel(folder, path)
	if _, missing := os.Stat(path); dir == "" || missing != nil || err != nil {
		return ""
	}
	return filepath.ToSlash(inside)
}

//go:embed page/*.tmpl
var sources embed.FS

//go:embed page/style.css
var pageStyle string

//go:embed page/chart.css
var chartStyle string

var style = drawing.Colours() + pageStyle + drawing.Style + chartStyle

//go:embed page/script.js
var script string

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(drawing.Templates().Funcs(template.FuncMap{
		"paragraphs":   lab.Paragraphs,
		"milliseconds": drawing.Milliseconds,
		"number":       drawing.Count,
		"seconds":      func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
	}).ParseFS(sources, "page/*.tmpl"))
})

// policy allows this package's own style and script, and nothing else: no request is sent, and no text of a history can become a script.
var policy = "default-src 'none'; style-src '" + digest(style) + "'; script-src '" + digest(script) +
	"'; base-uri 'none'; form-action 'none'"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func write(w io.Writer, p page) error {
	p.Policy, p.Style, p.Script = policy, template.CSS(style), template.JS(script)
	return pages().ExecuteTemplate(w, "page.html.tmpl", p)
}

// Write writes a report into the folder of each run, and one of all into store. The latter draws these runs, and has the verdict of the
// newest run of each other experiment, as it was judged when it ended. It returns the path of the latter, of a single run that of its own
// report, which draws more, and "" when no run was saved.
func Write(store string, runs []lab.Result, c lab.Catalogue) (string, error) {
	var failed error
	var written []lab.Saved
	for _, run := range runs {
		if run.Dir == "" || run.NotSaved != "" {
			continue
		}
		failed = errors.Join(failed, WriteRun(run.Saved))
		written = append(written, run.Saved)
	}
	if len(written) == 0 {
		return "", failed
	}
	failed = errors.Join(failed, writePage(store, func(w io.Writer) error { return Lab(w, store, newest(store, written, c)) }))
	if len(written) == 1 {
		return filepath.Join(written[0].Dir, lab.ReportFile), failed
	}
	return filepath.Join(store, lab.ReportFile), failed
}

// newest is the newest run of each experiment in store. Runs that have just ended come first and have their records. The others have their
// judgements only. Both are in the order of the catalogue. A run that was interrupted does not replace one that is complete. A run of an
// unknown experiment is left to lab check.
func newest(store string, ended []lab.Saved, c lab.Catalogue) (runs []lab.Saved) {
	all, earlier := lab.Runs(store), []lab.Saved(nil)
	for _, e := range c {
		at := slices.IndexFunc(all, func(dir string) bool { return filepath.Base(filepath.Dir(dir)) == e.ID })
		if at < 0 {
			continue
		}
		dir := all[at]
		if run, err := os.Readlink(dir); err == nil { // of the link to the newest run, which another run may move
			dir = filepath.Join(filepath.Dir(dir), run)
		}
		if just := slices.IndexFunc(ended, func(s lab.Saved) bool { return s.Dir == dir }); just >= 0 {
			runs = append(runs, ended[just])
		} else {
			earlier = append(earlier, c.Judged(dir))
		}
	}
	return append(runs, earlier...)
}

// WriteRun writes the report of a saved run into its folder.
func WriteRun(run lab.Saved) error {
	return writePage(run.Dir, func(w io.Writer) error { return Run(w, run, "") })
}

func writePage(dir string, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, lab.ReportFile), page.Bytes(), 0o644)
}
