package pages

import (
	"fmt"
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/drawing"
	"locklab/versions"
)

// images is the folder of the pictures, beside the pages.
const images = "img"

// readable is from how many events a trial without a violation is no longer worth a picture: nothing in it stands out.
const readable = 80

// picture is a drawing with what its variant showed.
type picture struct {
	lab.VariantJudgement
	Drawing
	File string // below the folder of the pages
}

// pictures are those of the result's drawings.
func (r Result) pictures() (all []picture) {
	for _, d := range r.Drawings {
		for _, v := range r.Judgement.Variants {
			if v.Name == d.Variant {
				all = append(all, pictureOf(r.Experiment, v, d))
			}
		}
	}
	return all
}

func pictureOf(e lab.Experiment, v lab.VariantJudgement, d Drawing) picture {
	return picture{v, d, images + "/" + e.ID + "-" + slug(v.Name) + ".svg"}
}

// drawn is a picture that a page may show, of which it chooses.
type drawn struct {
	picture
	svg    []byte
	length int  // of its trial, in events
	naive  bool // its lock is one of the articles
}

// draw draws the variants of a run: each with a violation, and each that was protected. The control is drawn where no other variant was
// protected.
func draw(run lab.Saved) (all []drawn, err error) {
	protected := func(v lab.VariantJudgement) bool { return v.Violation == nil && v.Trials > 0 }
	another := slices.ContainsFunc(run.Judgement.Variants, func(v lab.VariantJudgement) bool { return !v.Control && protected(v) })
	for _, v := range run.Judgement.Variants {
		trial, why := run.Record.Telling(v)
		events := history.Of(run.Record.Events, v.Name, trial)
		if !worth(v, events) || v.Control && another {
			continue
		}
		svg, err := drawing.SVG(events, v.Violation)
		if err != nil {
			return nil, err
		}
		if svg == nil {
			continue
		}
		shows := events
		if len(events) > readable/2 {
			shows = v.Evidence
		}
		all = append(all, drawn{
			picture: pictureOf(run.Experiment, v, Drawing{
				Variant: v.Name, Trial: fmt.Sprintf("trial %d, %s", trial, why),
				Events: slices.DeleteFunc(slices.Clone(shows), func(e history.Event) bool { return e.Kind == history.Measure }),
			}),
			svg: svg, length: len(events), naive: v.Strategy != "" && !slices.Contains(versions.Names(), v.Strategy),
		})
	}
	return all, nil
}

// onePerOutcome chooses the best drawing of each outcome. Variants with the same outcome mostly differ by their locks. An outcome is the
// violation in words, so two bursts that lost other values differ.
func onePerOutcome(all []drawn) (shown []drawn) {
	for _, p := range all {
		same := slices.DeleteFunc(slices.Clone(all), func(other drawn) bool { return other.outcome() != p.outcome() })
		if best(same).Name == p.Name {
			shown = append(shown, p)
		}
	}
	return shown
}

// best is the first picture that has a violation, few events, and no lock of the articles, if one has all of these.
func best(all []drawn) drawn {
	rank := func(p drawn) (n int) {
		for i, worse := range []bool{p.naive, p.length > readable, p.Violation == nil} {
			if worse {
				n |= 1 << i
			}
		}
		return n
	}
	return slices.MinFunc(all, func(a, b drawn) int { return rank(a) - rank(b) })
}

// outcome is what a picture shows: its violation in words, or none.
func (p picture) outcome() string {
	if p.Violation == nil {
		return ""
	}
	return p.Violation.What
}

// worth reports whether a drawing of a trial shows something. Measurements have a table.
func worth(v lab.VariantJudgement, events []history.Event) bool {
	if v.Violation == nil {
		return v.Expect == lab.Never && v.Trials > 0 && len(events) <= readable
	}
	return slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Kind != history.Measure && slices.Contains(v.Violation.Events, e.Seq)
	})
}

// slug makes of a variant's name the name of a file.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// Says is the text for a reader that does not see the picture.
func (p picture) Says() string {
	if p.Violation != nil {
		return p.Name + ": " + p.Violation.What
	}
	return p.Name + ": no violation"
}

// Refused reports whether the evidence has a read or a write that the resource refused.
func (d Drawing) Refused() bool {
	return slices.ContainsFunc(d.Events, func(e history.Event) bool { return e.Kind == history.Stale })
}

// Evidence is events with their number, their time of the day, their real fencing tokens and the proofs of faults.
func (p page) Evidence(events []history.Event) string {
	var b strings.Builder
	for _, e := range events {
		at := p.Record.Began.Add(e.At).UTC().Format("15:04:05.000000")
		fmt.Fprintf(&b, "%5d  %s  %-10s %s", e.Seq, at, e.Timeline, e.Summary())
		for _, more := range []struct{ name, text string }{{"key", e.Key}, {"owner", e.Owner}, {"proof:", e.Proof}} {
			if more.text != "" {
				fmt.Fprintf(&b, " · %s %s", more.name, more.text)
			}
		}
		b.WriteString("\n")
	}
	return fenced(b.String())
}
