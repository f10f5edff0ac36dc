package terminal

import (
	"fmt"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/scorecard"
)

// CheckedProgram is what `app lab try --check` prints: the steps of the protocol, and what is wrong with the last one.
func CheckedProgram(c *scorecard.Checked, screen Screen) string {
	var b strings.Builder
	for _, s := range c.Steps {
		mark := Paint("✓", Green, screen.Colour)
		if !s.Done {
			mark = Paint("✗", Red, screen.Colour)
		}
		fmt.Fprintf(&b, "%s %s", mark, lab.Printable(s.Name))
		if s.Done {
			fmt.Fprintf(&b, " (%.0f ms)", 1000*s.Took)
		}
		b.WriteString("\n")
	}
	if c.Claims.Name != "" {
		fmt.Fprintf(&b, "\n%s\n", screen.Fit(claims(c), 9))
	}
	if c.Wrong == "" {
		fmt.Fprintf(&b, "Result:  the program speaks the protocol (%s). Next: run the tests, without --check.\n", c.Server)
		return b.String()
	}
	fmt.Fprintf(&b, "\nWrong:   %s\nTo do:   %s\n", screen.Fit(lab.Printable(c.Wrong), 9), screen.Fit(c.Mend, 9))
	if len(c.Stderr) > 0 {
		fmt.Fprintf(&b, "The end of the program's stderr:\n%s\n", Indent(lab.PrintableLines(strings.Join(c.Stderr, "\n"))))
	}
	return b.String()
}

// claims says what a hello claims, and what it does not.
func claims(c *scorecard.Checked) string {
	made, others := c.Claimed()
	text := fmt.Sprintf("Hello:   %s, store %s\nClaims:  %s", lab.Printable(c.Claims.Name), lab.Printable(c.Claims.Store), listed(made))
	if len(others) > 0 {
		text += "\nSkipped: tests of " + listed(others)
	}
	return text
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Changes is what `app lab try --against` prints: the rows that changed since an earlier scorecard, the worse ones first.
func Changes(earlier *scorecard.Scorecard, changes []scorecard.Change, screen Screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Against: %s of %s", lab.Printable(earlier.Name), date(earlier.Ended))
	if len(changes) == 0 {
		b.WriteString(": no row changed\n")
		return b.String()
	}
	b.WriteString("\n")
	colours := map[scorecard.Trend]Colour{scorecard.Worse: Red, scorecard.Better: Green, scorecard.Unclear: Yellow}
	for _, trend := range []scorecard.Trend{scorecard.Worse, scorecard.Unclear, scorecard.Better, scorecard.New, scorecard.Gone} {
		for _, c := range changes {
			if c.Trend != trend {
				continue
			}
			line := fmt.Sprintf("%s: %s, %s", Paint(string(trend), colours[trend], screen.Colour), c, lab.Printable(c.Title))
			if trend == scorecard.Worse && c.Why != "" {
				line += ": " + lab.OneLine(c.Why)
			}
			fmt.Fprintf(&b, "  %s\n", screen.Fit(line, 2))
		}
	}
	return b.String()
}

// History is what `app lab try --history` prints: a line for each saved scorecard.
func History(all []scorecard.Past, screen Screen) string {
	t := NewTable("date (UTC)", "lock", "rows", "holds", "violated", "inconclusive", "changed rows").
		Right("rows", "holds", "violated", "inconclusive")
	every, _ := scorecard.Chosen(nil)
	for _, p := range all {
		var changes []string
		rows := 0 // fewer with --only
		for _, n := range p.Counts {
			rows += n
		}
		for _, c := range p.Changes {
			changes = append(changes, c.String())
		}
		t.Row(date(p.Ended), p.Name, fmt.Sprintf("%d of %d", rows, len(every)),
			fmt.Sprint(p.Counts[scorecard.Holds]), fmt.Sprint(p.Counts[scorecard.Violated]),
			fmt.Sprint(p.Counts[scorecard.Inconclusive]), strings.Join(changes, ", "))
	}
	return t.In(screen) + "\n"
}

// date is a time as the names of the saved files have it: in UTC.
func date(at time.Time) string { return at.UTC().Format("2006-01-02 15:04") }
