package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/html"
	"locklab/versions"
)

// images is the folder of the pictures, beside the pages.
const images = "img"

// readable is from how many events a trial without a violation is no longer worth a picture: nothing in it stands out.
const readable = 80

// picture is a trial of a variant as a drawing, with its events.
type picture struct {
	lab.VariantJudgement
	File  string // below the folder of the pages
	Trial string // which one it is
	Began time.Time
	Shows []history.Event // the evidence

	svg    []byte
	length int  // of its trial, in events
	naive  bool // its lock is one of the articles
}

// pictures are those of the variants: each with a violation, and each that was protected. The control is drawn where no other variant
// was protected.
func pictures(p page) (all []picture, err error) {
	protected := func(v lab.VariantJudgement) bool { return v.Violation == nil && v.Trials > 0 }
	another := slices.ContainsFunc(p.Judgement.Variants, func(v lab.VariantJudgement) bool { return !v.Control && protected(v) })
	for _, v := range p.Judgement.Variants {
		trial, why := p.Record.Telling(v)
		events := history.Of(p.Record.Events, v.Name, trial)
		if !worth(v, events) || v.Control && another {
			continue
		}
		svg, err := html.SVG(events, v.Violation)
		if err != nil {
			return nil, err
		}
		if svg == nil {
			continue
		}
		drawn := picture{
			VariantJudgement: v, File: images + "/" + p.Experiment.ID + "-" + slug(v.Name) + ".svg", svg: svg, length: len(events),
			naive: v.Strategy != "" && !slices.Contains(versions.Names(), v.Strategy),
			Trial: fmt.Sprintf("trial %d, %s", trial, why), Began: p.Record.Began, Shows: events,
		}
		if len(events) > readable/2 {
			drawn.Shows = v.Evidence
		}
		drawn.Shows = slices.DeleteFunc(slices.Clone(drawn.Shows), func(e history.Event) bool { return e.Kind == history.Measure })
		all = append(all, drawn)
	}
	return all, nil
}

// onePerOutcome divides pictures into those that a page shows, of each outcome the best, and the others, which it links. Variants with the
// same outcome mostly differ by their locks. An outcome is the violation in words, so two bursts that lost other values differ.
func onePerOutcome(all []picture) (shows, links []picture) {
	for _, p := range all {
		same := slices.DeleteFunc(slices.Clone(all), func(other picture) bool { return other.outcome() != p.outcome() })
		if best(same).File == p.File {
			shows = append(shows, p)
		} else {
			links = append(links, p)
		}
	}
	return shows, links
}

// best is the first picture that has a violation, few events, and no lock of the articles, if one has all of these.
func best(all []picture) picture {
	rank := func(p picture) (n int) {
		for i, worse := range []bool{p.naive, p.length > readable, p.Violation == nil} {
			if worse {
				n |= 1 << i
			}
		}
		return n
	}
	return slices.MinFunc(all, func(a, b picture) int { return rank(a) - rank(b) })
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
func (p picture) Refused() bool {
	return slices.ContainsFunc(p.Shows, func(e history.Event) bool { return e.Kind == history.Stale })
}

// evidence is the events with their number, their time of the day, their real fencing tokens and the proofs of faults.
func evidence(p picture) string {
	var b strings.Builder
	for _, e := range p.Shows {
		at := p.Began.Add(e.At).UTC().Format("15:04:05.000000")
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
