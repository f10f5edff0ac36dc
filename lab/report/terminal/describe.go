package terminal

import (
	"fmt"
	"strings"

	"locklab/lab"
)

// Experiment says what an experiment is: its lesson, its claim and its variants. The claim answers the question, so it stands with the
// explanation. program starts the commands in it.
func Experiment(e lab.Experiment, program string, screen Screen) string {
	d := description{screen: screen}
	fmt.Fprintf(&d, "%s · %s · %s\n%s\n", e.ID, e.Articles, e.Level, e.Title)
	d.part("Question", e.Question)
	d.part("Predict", strings.Join(append([]string{e.Predict}, e.Choices...), "\n\n"))
	d.part("How it runs", e.How)
	fmt.Fprintf(&d, "\nPredict before you read on: the rest is the answer.\n")
	if e.Drawing != "" {
		fmt.Fprintf(&d, "\nDrawing\n%s\n", Indent(e.Drawing))
	}
	t := NewTable("variant", "predicted", "row of the matrix")
	for i, v := range e.Variants {
		t.Row(variantTitle(v.Name, "", i == 0), v.Expect, v.Strategy)
	}
	fmt.Fprintf(&d, "\n%s\n", t.In(screen))
	for _, i := range e.Interleavings {
		d.part("Every interleaving of the steps of "+i.Lock.Name, "predicted: "+i.Expect.String())
	}
	d.part("In the matrix", e.Anomaly)
	d.part("Claim", e.Claim)
	d.part("Why", e.Why)
	d.part("Fix", e.Fix)
	d.part("Limits", e.Limits)
	d.part("What the articles say", e.Says)
	for _, erratum := range e.Errata {
		d.part("Erratum of "+erratum.Article, erratum.What)
	}
	d.part("Known from elsewhere", e.Elsewhere)
	d.part("Try next", e.Next)
	d.run(e, program)
	return d.String()
}

// description is what is printed of an experiment.
type description struct {
	strings.Builder
	screen Screen
}

// part prints paragraphs below a headline, unless there are none.
func (d *description) part(headline, words string) {
	if words == "" {
		return
	}
	fmt.Fprintf(d, "\n%s\n", headline)
	for _, paragraph := range lab.Paragraphs(strings.TrimSpace(words)) {
		fmt.Fprintln(d, Indent(d.screen.Wrap(paragraph, 2)))
	}
}

// run prints the commands that run the experiment, and what they need.
func (d *description) run(e lab.Experiment, program string) {
	for _, sentence := range lab.Here().WouldLeaveOut(e) {
		fmt.Fprintf(d, "\n%s\n", d.screen.Wrap("Left out here: "+sentence, 0))
	}
	needs := e.Needed()
	if some := e.Optional(); some != "" {
		needs += "; some variants need " + some
	}
	fmt.Fprintf(d, "\nNeeds %s; takes about %.0f s\nRun it: %s lab run %s\n", needs, e.Takes.Seconds(), program, e.ID)
	if e.Docker > 0 {
		fmt.Fprintf(d, "With the compose file's containers for Redis (about %.0f s):\n  %s lab run %s --on docker\n",
			e.Docker.Seconds(), program, e.ID)
	}
}
