package html

import (
	"io"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/drawing"
	"locklab/lab/report/outcome"
)

// Style is the style of a page with the parts below.
func Style() string { return style }

// Script lets a reader point at the events of a drawing. Without it their titles describe them.
func Script() string { return script }

// Signs writes what drawings and verdicts refer to. A page with parts begins with it.
func Signs(w io.Writer) error {
	return pages().ExecuteTemplate(w, "signs", page{Shapes: drawing.Shapes})
}

// Drawing writes the drawing of a trial, for a page of another package. Without a violation more events may come.
func Drawing(w io.Writer, events []history.Event, found *history.Violation) error {
	if len(events) == 0 {
		return nil
	}
	return pages().ExecuteTemplate(w, "pictures", variant{Picture: drawing.Unfinished(events, found), Bursts: bursts(events)})
}

// Replay writes the drawing of a trial after its first events. Each later one has its place already, so that nothing moves. The violation
// is marked after the last event.
func Replay(w io.Writer, events []history.Event, after int, found *history.Violation) error {
	return drawing.After(events, after, found).Write(w)
}

// Outcome writes the verdict of a run.
func Outcome(w io.Writer, run lab.Saved) error {
	return pages().ExecuteTemplate(w, "outcome", map[string]any{
		"Verdict": verdictOf(run.Judgement.Verdict), "Why": run.Judgement.Why, "LeftOut": lab.VariantsLeftOut(run.Judgement),
	})
}

// Verdicts writes what each variant of a run showed, folded apart from the few that say most. What was measured stands after the first
// drawing of a violation.
func Verdicts(w io.Writer, run lab.Saved) error {
	return pages().ExecuteTemplate(w, "verdicts", newPage("", drawing.Live, run))
}

// Shown writes what a run showed: a sign and a few words.
func Shown(w io.Writer, o outcome.Outcome) error {
	return pages().ExecuteTemplate(w, "verdict", styled(o))
}
