// Package report writes what the lab saw as HTML: one file for a run, one for the whole lab. A file is complete: it opens from disk and
// requests nothing from a server, which its policy forbids. Everything that comes from a history is escaped.
//
// What is NOT guaranteed: that time is drawn to scale. A drawing gives each event enough room to show the interleaving; the numbers
// below it are the time.
package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/history"
)

// Run writes the report of one run.
func Run(w io.Writer, run experiments.Saved) error {
	return write(w, newPage(run.Experiment.ID, false, run))
}

// Lab writes the report of a whole lab: all verdicts, then each experiment, then what the articles get wrong.
func Lab(w io.Writer, runs []experiments.Saved) error {
	return write(w, newPage("The lab", true, runs...))
}

//go:embed page/*.tmpl
var sources embed.FS

//go:embed page/style.css
var style string

//go:embed page/script.js
var script string

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"milliseconds": milliseconds,
	"number":       number,
	"seconds":      func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
	"timelines":    history.Timelines,
	"trim":         func(text string) string { return strings.Trim(text, "\n") },
}).ParseFS(sources, "page/*.tmpl"))

// policy allows this package's own style and script, and nothing else: no request is sent, and no text of a history can become a script.
var policy = "default-src 'none'; style-src '" + digest(style) + "'; script-src '" + digest(script) +
	"'; base-uri 'none'; form-action 'none'"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func write(w io.Writer, p page) error {
	p.Policy, p.Style, p.Script = policy, template.CSS(style), template.JS(script)
	return pages.ExecuteTemplate(w, "page.html.tmpl", p)
}
