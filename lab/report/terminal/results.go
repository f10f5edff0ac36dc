package terminal

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/outcome"
)

// Results is what `app lab run` prints: a table of verdicts, the evidence, and how to reproduce it.
func Results(r *lab.Results, screen Screen) string {
	colour := screen.Colour
	var b strings.Builder
	if len(r.Runs) == 1 && r.Runs[0].Record.Claim != "" {
		fmt.Fprintf(&b, "%s\n\n", screen.Wrap(r.Runs[0].Record.Claim, 0))
	}
	if len(r.Runs) > many {
		fmt.Fprintf(&b, "%s\n\n", summary(r.Runs, colour).In(screen))
		if other := different(r.Runs); len(other) > 0 {
			fmt.Fprintf(&b, "Not as predicted:\n\n%s\n\n", runsTable(other, colour).In(screen))
		}
		fmt.Fprintf(&b, "%s", evidence(r.Runs, screen))
	} else {
		fmt.Fprintf(&b, "%s\n\n%s", runsTable(r.Runs, colour).In(screen), evidence(r.Runs, screen))
	}
	switch {
	case len(r.Runs) == 1:
		b.WriteString(measurements(r.Runs[0].Record, screen))
	case len(r.Runs) <= many:
		fmt.Fprintf(&b, "%s\n\n", times(r).In(screen))
	}
	b.WriteString(saved(r.Runs))
	if r.Report != "" {
		fmt.Fprintf(&b, "Report:  %s\n", r.Report)
	}
	fmt.Fprintf(&b, "Reproduce: %s\n", r.Command)
	if r.Pace > 1 {
		fmt.Fprintf(&b, "Pace:    %s\n", screen.Fit(r.Pace.String(), 9))
	}
	for _, sentence := range slices.Concat(r.LeftOut, variantsLeftOut(r.Runs)) {
		fmt.Fprintf(&b, "Left out: %s\n", screen.Fit(sentence, 10))
	}
	if len(r.Runs) > many {
		fmt.Fprintf(&b, "Ran:     %s\n", screen.Fit(counts(r.Runs), 9))
	}
	verdict := fmt.Sprintf("%s%s (%.1f s, Redis: %s). %s", Verdict(r.Verdict, colour), ranOf(r.Runs), r.Took, r.Redis, meaning)
	fmt.Fprintf(&b, "Verdict: %s\n", screen.Fit(verdict, 9))
	return b.String()
}

// many is the number of runs above which each has a row, and its variants have none.
const many = 8

// summary has a row for each run.
func summary(runs []lab.Result, colour bool) Table {
	t := NewTable("experiment", "variants", "violated", "time", "verdict").Right("variants", "violated", "time")
	for _, run := range runs {
		ran, _ := run.Judgement.Ran()
		violated := 0
		for _, v := range run.Judgement.Variants {
			if v.Violations > 0 {
				violated++
			}
		}
		took := fmt.Sprintf("%.1f s", run.Record.Took.Seconds())
		t.Row(nameOf(run), ran, violated, took, Verdict(run.Judgement.Verdict, colour))
	}
	return t
}

// different are the runs that are not as predicted.
func different(runs []lab.Result) []lab.Result {
	return slices.DeleteFunc(slices.Clone(runs), func(r lab.Result) bool { return r.Judgement.Verdict == lab.AsExpected })
}

// counts says what became of the variants of all runs.
func counts(runs []lab.Result) string {
	violated, held, other := 0, 0, 0
	for _, run := range runs {
		for _, v := range run.Judgement.Variants {
			switch {
			case v.LeftOut != "":
			case v.Verdict != lab.AsExpected:
				other++
			case v.Violations > 0:
				violated++
			default:
				held++
			}
		}
	}
	return fmt.Sprintf("%d experiments: %d variants with a violation and %d without, as predicted; %d not as predicted",
		len(runs), violated, held, other)
}

// saved says where the runs are: the folder of each, or of many the folder that has them all.
func saved(runs []lab.Result) string {
	var lines []string
	for _, run := range runs {
		if run.Dir == "" || run.NotSaved != "" {
			continue
		}
		line := fmt.Sprintf("Saved:   %s\n", run.Dir)
		if len(runs) > many { // store/EXPERIMENT/TIME
			line = fmt.Sprintf("Saved:   %s, in a folder for each experiment\n", filepath.Dir(filepath.Dir(run.Dir)))
		}
		lines = append(lines, line)
	}
	return strings.Join(slices.Compact(lines), "")
}

// variantsLeftOut says which variants did not run, and why: a sentence for each reason.
func variantsLeftOut(runs []lab.Result) (sentences []string) {
	all := make([]lab.Judgement, len(runs))
	for i, run := range runs {
		all[i] = run.Judgement
	}
	for _, sentence := range lab.VariantsLeftOut(all...) {
		sentences = append(sentences, lab.OneLine(sentence)) // a saved run may be of anybody
	}
	return sentences
}

// ranOf says beside a verdict how many variants it is about, where some were left out.
func ranOf(runs []lab.Result) string {
	ran, all := 0, 0
	for _, run := range runs {
		r, n := run.Judgement.Ran()
		ran, all = ran+r, all+n
	}
	if ran == all {
		return ""
	}
	return fmt.Sprintf(", %d of %d variants ran", ran, all)
}

// tableWidth is how wide a table of measurements is at most, also in a file.
const tableWidth = 100

// measurements is what a run measured, as a table; empty: nothing.
func measurements(r lab.Record, screen Screen) string {
	m := r.Measurements()
	if len(m.Rows) == 0 {
		return ""
	}
	t := NewTable(append([]string{"variant", "of"}, m.Units...)...).Right(m.Units...)
	for _, row := range m.Rows {
		cells := []any{row.Variant, row.Timeline}
		for _, cell := range row.Cells {
			cells = append(cells, Trusted(cell)) // a number, maybe with narrow blanks
		}
		t.Row(cells...)
	}
	return "Measured: the median of the trials (lowest to highest).\n\n" + t.In(screen.AtMost(tableWidth)) + "\n\n"
}

// claimWidth is how wide the claims in a table are.
const claimWidth = 60

// runsTable has a row for each variant of each run. Of several runs it has the claims, too.
func runsTable(runs []lab.Result, colour bool) Table {
	t := NewTable("experiment", "variant", "time", "verdict").Right("time")
	for _, run := range runs {
		if len(run.Judgement.Variants) == 0 {
			t.Row(nameOf(run), "", "", Verdict(run.Judgement.Verdict, colour))
		}
		name := nameOf(run)
		if claim := run.Record.Claim; len(runs) > 1 && claim != "" {
			t.Row(name, Trusted(Wrap(lab.Printable(claim), claimWidth)), "", "")
			name = ""
		}
		for _, v := range run.Judgement.Variants {
			seconds := fmt.Sprintf("%.1f s", run.Record.TookBy(v.Name).Seconds())
			if v.LeftOut != "" { // the verdict of the run does not count it
				seconds = ""
			}
			t.Row(name, variantTitle(v.Name, v.Strategy, v.Control), seconds, shown(outcome.Variant(v), colour))
			name = ""
		}
	}
	return t
}

// variantTitle names the version that a variant runs, where its name does not, and marks the control.
func variantTitle(name, strategy string, control bool) string {
	var notes []string
	if version := outcome.Version(name, strategy); version != "" {
		notes = append(notes, version)
	}
	if control {
		notes = append(notes, "control")
	}
	if len(notes) == 0 {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(notes, ", "))
}

// nameOf is the experiment's id, or where the run is that is not known to be one's.
func nameOf(r lab.Result) string { return cmp.Or(r.Judgement.Experiment, r.Dir) }

// evidence says why a verdict is not as predicted, and draws what shows it. Of a single run it draws the lesson's violation and remedy as
// well.
func evidence(runs []lab.Result, screen Screen) string {
	var b strings.Builder
	for _, run := range runs {
		name := lab.Printable(nameOf(run))
		if j := run.Judgement; j.Why != "" {
			b.WriteString(screen.Fit(fmt.Sprintf("%s: %s: %s\n", name, Verdict(j.Verdict, screen.Colour), lab.OneLine(j.Why)), 0))
		}
		if len(runs) == 1 || run.Judgement.Verdict != lab.AsExpected {
			drawings(&b, name, run, len(runs) == 1, screen)
		}
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
	return b.String()
}

// drawings draws the variants of a run that tell most.
func drawings(b *strings.Builder, name string, run lab.Result, alone bool, screen Screen) {
	telling, more := outcome.Telling(run.Judgement.Variants), 0
	for i, v := range run.Judgement.Variants {
		what, drawing := v.Seen(), Story(run.Record, v)
		if v.Violation != nil {
			what = lab.Printable(v.Violation.What)
		}
		switch {
		case v.Violation != nil && !telling[i]:
			more++
		case drawing != "" && telling[i] && (alone || v.Violation != nil):
			what = fmt.Sprintf("%s, %s: %s", name, lab.Printable(variantTitle(v.Name, v.Strategy, v.Control)), what)
			fmt.Fprintf(b, "%s\n\n%s\n", screen.Fit(what, 0), drawing)
		}
	}
	if more > 0 && run.Dir != "" {
		fmt.Fprintf(b, "Other variants with a violation: %d. They are drawn in %s\n\n", more, filepath.Join(run.Dir, lab.ReportFile))
	}
}

// Story draws the trial that shows most of a variant, as far as a terminal has room for it.
func Story(r lab.Record, v lab.VariantJudgement) string {
	events, left := r.Story(v)
	if len(events) == 0 {
		return ""
	}
	trial := history.Of(r.Events, v.Name, events[0].Trial)
	drawing := lab.PrintableLines(history.TimelinesOf(trial, events))
	if left > 0 {
		drawing += fmt.Sprintf("   (%d other events of this trial are left out.)\n", left)
	}
	return drawing
}

func times(r *lab.Results) Table {
	runs := slices.Clone(r.Runs)
	slices.SortStableFunc(runs, func(a, b lab.Result) int { return cmp.Compare(b.Record.Took, a.Record.Took) })
	t := NewTable("where the time went", "s", "usual").Right("s", "usual")
	for _, run := range runs {
		t.Row(nameOf(run), fmt.Sprintf("%.1f", run.Record.Took.Seconds()), fmt.Sprintf("%.0f", run.Usual().Seconds()))
	}
	t.Row("from start to end", fmt.Sprintf("%.1f", r.Took), "")
	return t
}

// meaning says what "as predicted" means; it stands beside every verdict.
const meaning = `"As predicted" means: what should fail did, and nothing else failed in this run.`

// colours are those of the tones. A neutral outcome has none.
var colours = map[outcome.Tone]Colour{
	outcome.Good: Green, outcome.Bad: Red, outcome.Alarm: Alarm, outcome.Unclear: Yellow,
}

// Verdict is the verdict of a whole run, for a sentence.
func Verdict(v lab.Verdict, on bool) Trusted {
	o := outcome.Whole(v)
	return Paint(o.Words, colours[o.Tone], on)
}

// shown is an outcome as a table shows it. Its colour says whether it is good for the reader, and its check mark that it was predicted.
// Of a predicted loss only the loss is red.
func shown(o outcome.Outcome, on bool) Trusted {
	predicted := outcome.Whole(lab.AsExpected).Words
	if seen, is := strings.CutSuffix(o.Words, predicted); is && o.Tone == outcome.Bad {
		if loss, is := strings.CutSuffix(seen, ", "); is {
			seen = string(Paint(loss, Red, on)) + ", "
		}
		return Trusted(seen + predicted + " ✓")
	}
	sign := map[outcome.Tone]string{outcome.Good: " ✓", outcome.Bad: " ✓", outcome.Alarm: " ✗"}[o.Tone]
	return Paint(o.Words+sign, colours[o.Tone], on)
}
