package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"locklab/lab"
	"locklab/lab/scorecard"
)

// Scorecard is what `app lab try` prints: the evidence of each violation, the measurements, a row for each promise, and the result. The
// rows and the result stand last, where a terminal still shows them.
func Scorecard(c *scorecard.Scorecard, screen Screen) string {
	var b strings.Builder
	writeFailures(&b, c, screen)
	if m := measured(c); m.Len() > 0 {
		fmt.Fprintf(&b, "%s\n\n", m.In(screen))
	}
	t := NewTable("", c.Name, "time", "result").Right("time")
	for _, row := range c.Rows {
		number := lab.Number(row.ID)
		t.Row(number, row.Title, fmt.Sprintf("%.1f s", row.Took), State(row.State, screen.Colour))
	}
	fmt.Fprintf(&b, "%s\n", t.In(screen))
	writeFooter(&b, c, screen)
	return b.String()
}

// writeFailures writes why rows do not hold, with the evidence: of a row with several violations that of the first.
func writeFailures(b *strings.Builder, c *scorecard.Scorecard, screen Screen) {
	for _, row := range c.Rows {
		if row.Why == "" {
			continue
		}
		why := fmt.Sprintf("%s: %s: %s", row.ID, State(row.State, screen.Colour), lab.OneLine(row.Why))
		fmt.Fprintf(b, "%s\n", screen.Fit(why, 0))
		if row.Stderr != "" {
			fmt.Fprintf(b, "The end of the program's stderr:\n%s\n", Indent(lab.PrintableLines(row.Stderr)))
		}
		writeFirst(b, row, c.Report)
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
}

// writeFirst draws the first variant of a row that is violated, and says where the others are drawn.
func writeFirst(b *strings.Builder, row scorecard.Score, report string) {
	violated := slices.DeleteFunc(slices.Clone(row.Variants), func(v lab.VariantJudgement) bool { return v.Verdict != lab.Unexpected })
	if len(violated) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n%s", violated[0].Name, Story(row.Saved.Record, violated[0]))
	if more := len(violated) - 1; more > 0 {
		drawn := cmp.Or(report, "the report")
		fmt.Fprintf(b, "Other variants of %s with a violation: %d. They are drawn in %s\n", lab.Number(row.ID), more, drawn)
	}
	b.WriteString("\n")
}

// writeFooter writes what was tried, and what it came to.
func writeFooter(b *strings.Builder, c *scorecard.Scorecard, screen Screen) {
	if c.Report != "" {
		fmt.Fprintf(b, "\nReport:  %s\n", c.Report)
	}
	servers := "store: " + c.Claims.Store
	if c.Server != "" {
		servers += "; server: " + c.Server
	}
	fmt.Fprintf(b, "Tried:   %s (%.1f s; %s)\n", lab.Printable(commandLine(c.Program)), c.Took, servers)
	if c.Pace > 1 {
		fmt.Fprintf(b, "Pace:    %s\n", screen.Fit(c.Pace.String(), 9))
	}
	if c.Stopped != "" {
		fmt.Fprintf(b, "Stopped: %s\n", screen.Fit(lab.OneLine(c.Stopped), 9))
		for _, line := range c.Stderr {
			fmt.Fprintf(b, "  stderr: %s\n", lab.Printable(line))
		}
	}
	var counts []string
	for _, state := range scorecard.States {
		if n := c.Count(state); n > 0 || state != scorecard.NotTried {
			counts = append(counts, fmt.Sprintf("%d %s", n, state.Of(n)))
			if state == scorecard.Violated && n > 0 {
				counts[len(counts)-1] += " (" + strings.Join(c.Numbers(state), " ") + ")"
			}
		}
	}
	fmt.Fprintf(b, "Result:  %s. %s\n", strings.Join(counts, ", "), screen.Fit(`"Holds" means: no violation in this run.`, 9))
}

// commandLine is a command as a shell needs it.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = word
		if word == "" || strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./=:,+@%", r)
		}) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// measured are the measurements of a scorecard, one row each.
func measured(c *scorecard.Scorecard) Table {
	t := NewTable("measured", "in", "value").Right("value")
	for _, row := range c.Rows {
		for _, m := range row.Measures {
			number := lab.Number(row.ID)
			t.Row(m.Label(), number+", "+m.Variant, Trusted(m.Text(m.Median())))
		}
	}
	return t
}

// State is a result in green, red or yellow, where colours are on. One that was only measured is neither good nor bad.
func State(s scorecard.State, on bool) Trusted {
	colours := map[scorecard.State]Colour{
		scorecard.Holds: Green, scorecard.Violated: Red, scorecard.Inconclusive: Yellow, scorecard.NotTried: Yellow, scorecard.NotClaimed: Yellow,
	}
	return Paint(string(s), colours[s], on)
}

// Tried is what `app lab try --list` prints.
func Tried(rows []scorecard.Row, screen Screen) string {
	var b strings.Builder
	for _, r := range rows {
		promise, matters := screen.Wrap(r.Promise, 2), screen.Wrap("Why it matters: "+r.Matters, 2)
		fmt.Fprintf(&b, "%s · %s\n%s\n%s\n", r.ID, r.Title, Indent(promise), Indent(matters))
		if r.Claim.Name != "" {
			fmt.Fprintf(&b, "%s\n", Indent(screen.Wrap("Tried when the program claims: "+r.Claim.Name, 2)))
		}
		b.WriteString("\n")
	}
	return b.String()
}
