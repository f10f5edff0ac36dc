package live

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"locklab/lab"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
)

// experimentOf is the experiment that a request names.
func (s *Server) experimentOf(r *http.Request) (lab.Experiment, error) {
	e, err := s.cfg.Catalogue.Find(r.PathValue("id"))
	return e, refuse(http.StatusNotFound, err)
}

func (s *Server) experiment(r *http.Request) (page, error) {
	e, err := s.experimentOf(r)
	if err != nil {
		return page{}, err
	}
	s.lead(r, "experiment "+e.ID)
	v, part := s.viewerOf(r), runPart(e)
	at := slices.IndexFunc(s.cfg.Catalogue, func(other lab.Experiment) bool { return other.ID == e.ID })
	before, after := s.cfg.Catalogue[(at+len(s.cfg.Catalogue)-1)%len(s.cfg.Catalogue)], s.cfg.Catalogue[(at+1)%len(s.cfg.Catalogue)]
	parts := []string{askPart(e), guessesPart(e), goPart(e), afterName(part), afterCount(afterName(part)), part, savedPart(e)}
	asked := s.ask(part, v)
	return page{Name: "experiment", Title: e.ID, Parts: parts, Body: map[string]any{
		"Experiment": e, "AskPart": askPart(e), "GuessesPart": guessesPart(e), "GoPart": goPart(e), "Part": part, "SavedPart": savedPart(e),
		"Afterwards": afterName(part), "Count": afterCount(afterName(part)),
		"Answers": v.Trains() || !asked.Open && !asked.Hidden(),
		"Before":  before, "After": after, "Program": s.cfg.Program,
	}}, nil
}

// The parts of an experiment's page.
func runPart(e lab.Experiment) string { return "run-" + e.ID }
func askPart(e lab.Experiment) string { return "ask-" + e.ID }

func guessesPart(e lab.Experiment) string { return "guesses-" + e.ID }
func goPart(e lab.Experiment) string      { return "go-" + e.ID }
func savedPart(e lab.Experiment) string   { return "saved-" + e.ID }

// tried is what has become of the newest run of an experiment since the program started.
type tried struct {
	now   *runNow        // that goes on; nil: none does
	ended *lab.Judgement // nil: none has ended
}

// expectation is the question of an experiment: which of its variants will show a violation?
type expectation struct {
	asked
	Experiment lab.Experiment
	States     map[string]template.HTML // of the variants, by name
	Shown      bool                     // the newest run has shown what the experiment says
}

// statesOf says what has become of each variant in the newest run.
func (s *Server) statesOf(t tried) map[string]template.HTML {
	states := make(map[string]template.HTML)
	switch {
	case t.now != nil:
		for _, so := range t.now.copy().Judged {
			seen := lab.VariantJudgement{Trials: so.Trials, Violations: so.Violations}.Seen()
			states[so.Variant] = template.HTML(template.HTMLEscapeString(seen))
		}
	case t.ended != nil:
		for _, v := range t.ended.Variants {
			o := outcome.Variant(v)
			if v.Verdict == lab.AsExpected {
				o.Words = v.Seen() // "as predicted" beside a guess would be about the guess
			}
			states[v.Name] = shown(o)
		}
	}
	return states
}

// has reports whether a guess names a variant.
func has(guess string, variant int) bool {
	return slices.Contains(strings.Split(guess, ","), strconv.Itoa(variant))
}

const guessedRight = "guessed right"

// Mark says how the viewer's guess of a variant compares with the run.
func (x expectation) Mark(variant int) string {
	switch {
	case !x.Shown || x.Showed == "" || x.Mine == "":
		return ""
	case has(x.Showed, variant) == has(x.Mine, variant):
		return guessedRight
	}
	return "guessed wrong"
}

// Ticked reports whether the viewer expects a violation in a variant.
func (x expectation) Ticked(variant int) bool { return has(x.Mine, variant) }

// Votes is how many expect a violation in a variant.
func (x expectation) Votes(variant int) (n int) {
	for guess, times := range x.Counts {
		if has(guess, variant) {
			n += times
		}
	}
	return n
}

// showExpectation shows the questions of an experiment in each browser, its buttons, and its saved runs.
func (s *Server) showExpectation(e lab.Experiment) {
	s.showGuess(e)
	s.showExperimentAfter(e)
	s.board.putEach(savedPart(e), func(v viewer) string {
		if s.ask(runPart(e), v).keeps() {
			return ""
		}
		return s.fragment("saved", map[string]any{"Experiment": e, "Runs": s.listedRuns(e)})
	})
}

// showExperimentAfter shows what has changed with an answer after the run.
func (s *Server) showExperimentAfter(e lab.Experiment) {
	s.showAfter(afterName(runPart(e)), runPart(e), "/ui/experiments/"+e.ID+"/answer")
}

// showGuess shows what has changed with a guess.
func (s *Server) showGuess(e lab.Experiment) {
	s.showVariants(e)
	// The guesses of others must not replace what somebody ticks, and what changes during a run no button that somebody presses.
	s.board.putEach(guessesPart(e), func(v viewer) string { return s.fragment("guesses", s.ask(runPart(e), v)) })
	s.board.putEach(goPart(e), func(v viewer) string {
		return s.fragment("go", map[string]any{
			"Asked": s.ask(runPart(e), v), "Runs": s.ask(runPart(e), v).Runs, "Stopping": s.isStopping(runPart(e)),
			"Missing": s.cfg.Options.CannotRun(e), "Trains": v.Trains(), "Ended": s.triedOf(e).ended != nil,
			"Right": s.expectationOf(e, v).Right(), "Of": len(e.Variants),
		})
	})
}

// showVariants shows the variants of an experiment, what a viewer expects of them, and what has become of them.
func (s *Server) showVariants(e lab.Experiment) {
	s.board.putEach(askPart(e), func(v viewer) string { return s.fragment("expectation", s.expectationOf(e, v)) })
}

func (s *Server) expectationOf(e lab.Experiment, v viewer) expectation {
	t, a := s.triedOf(e), s.ask(runPart(e), v)
	if a.tells() {
		t = tried{}
	}
	shown := t.now == nil && t.ended != nil && t.ended.Verdict == lab.AsExpected && !a.Hidden()
	return expectation{a, e, s.statesOf(t), shown}
}

// Right is how many variants the viewer has guessed right; -1: that is not known.
func (x expectation) Right() (n int) {
	for i := range x.Experiment.Variants {
		switch x.Mark(i) {
		case "":
			return -1
		case guessedRight:
			n++
		}
	}
	return n
}

// none is the guess that no variant shows a violation.
const none = "none"

// guessExperiment takes the guess that a form has.
func (s *Server) guessExperiment(r *http.Request) error {
	e, err := s.experimentOf(r)
	if err != nil {
		return err
	}
	_ = r.ParseForm()
	var ticked []string // as the variants are counted, whatever a browser sends
	for i := range e.Variants {
		if slices.Contains(r.PostForm["variant"], strconv.Itoa(i)) {
			ticked = append(ticked, strconv.Itoa(i))
		}
	}
	if len(ticked) != len(r.PostForm["variant"]) {
		return refuse(http.StatusBadRequest, fmt.Errorf("tick each variant of %s once at most, and no others", e.ID))
	}
	if s.class == nil && len(ticked) == 0 { // alone, a person need not guess
		return nil
	}
	defer s.showGuess(e)
	return s.guess(runPart(e), s.viewerOf(r), cmp.Or(strings.Join(ticked, ","), none))
}

// answerExperiment takes what a participant has seen.
func (s *Server) answerExperiment(r *http.Request) error {
	e, err := s.experimentOf(r)
	if err == nil {
		err = s.answer(r, runPart(e))
		s.showExperimentAfter(e)
	}
	return err
}

// tellExperiment shows a class the guesses, which are right, and why.
func (s *Server) tellExperiment(r *http.Request) error {
	e, err := s.experimentOf(r)
	if err != nil {
		return err
	}
	err = s.tell(runPart(e))
	s.showExpectation(e)
	s.board.again(runPart(e))
	return err
}

// runExperiment begins the run of an experiment. Without a class it takes the guess first.
func (s *Server) runExperiment(r *http.Request) error {
	e, err := s.experimentOf(r)
	if err == nil && s.class == nil {
		err = s.guessExperiment(r)
	}
	if err != nil {
		return err
	}
	opened := s.questions.Close(runPart(e))
	before := s.triedOf(e)
	err = s.try(trial{
		experiment: e, part: runPart(e), saved: true,
		judged: func(now *runNow) { s.setTried(e, tried{now: now}); s.showVariants(e) },
		ended:  func(r lab.Result) { s.endExperiment(e, r, opened, before) },
	})
	if err != nil {
		s.questions.NotRun(runPart(e), opened)
	} else {
		s.beginTried(e)
	}
	s.showExpectation(e)
	return err
}

// stopExperiment stops the run of an experiment.
func (s *Server) stopExperiment(r *http.Request) error {
	e, err := s.experimentOf(r)
	if err == nil {
		s.stop(runPart(e))
		s.showExpectation(e)
	}
	return err
}

// guessAgain asks the question of an experiment anew, without a guess, unless it runs.
func (s *Server) guessAgain(r *http.Request) error {
	e, err := s.experimentOf(r)
	if err == nil && s.questions.Reopen(runPart(e)) {
		s.forget(runPart(e))
		s.setTried(e, tried{})
		s.board.put(runPart(e), "")
		s.showExpectation(e)
	}
	return err
}

func (s *Server) setTried(e lab.Experiment, t tried) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried[e.ID] = t
}

// beginTried forgets the run before, unless the run that begins has told something, or has ended, meanwhile.
func (s *Server) beginTried(e lab.Experiment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tried[e.ID]; s.busy[runPart(e)] != nil && t.now == nil {
		s.tried[e.ID] = tried{}
	}
}

func (s *Server) triedOf(e lab.Experiment) tried {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried[e.ID]
}

// endExperiment shows what a run came to. After one that was stopped the question is as it was, and after one that never began the result
// of the run before, too.
func (s *Server) endExperiment(e lab.Experiment, r lab.Result, opened bool, before tried) {
	stopped := r.Record.Interrupted
	s.ending.Lock()
	defer s.ending.Unlock()
	var counts bool
	if stopped {
		counts = s.questions.NotRun(runPart(e), opened)
	} else if counts = s.questions.Ended(runPart(e)); counts {
		s.scoreExperiment(e, r)
	}
	judgement := r.Judgement // the record must not be kept with it
	switch began := r.Experiment.ID != ""; {
	case !counts: // a class began anew meanwhile
		s.setTried(e, tried{})
		s.board.put(runPart(e), "")
	case !began:
		s.setTried(e, before)
		s.board.put(runPart(e), s.fragment("ended", map[string]any{"Stopped": true}))
	default:
		s.setTried(e, tried{ended: &judgement})
		outcome := markup(func(w io.Writer) error { return html.Outcome(w, r.Saved) })
		verdicts := markup(func(w io.Writer) error { return html.Verdicts(w, r.Saved) })
		s.board.putEach(runPart(e), func(v viewer) string {
			a := s.ask(runPart(e), v)
			if a.tells() {
				return s.fragment("ended", map[string]any{"Stopped": true})
			}
			return s.fragment("ended", map[string]any{
				"Experiment": e, "NotSaved": r.NotSaved, "Stopped": stopped, "Outcome": outcome, "Verdicts": verdicts,
				"Why": judgement.Verdict == lab.AsExpected && !a.Waits(),
			})
		})
	}
	s.showExpectation(e)
}

// scoreExperiment scores the guesses, if the run has shown what the experiment says.
func (s *Server) scoreExperiment(e lab.Experiment, r lab.Result) {
	var violating []string
	for i, v := range r.Judgement.Variants {
		if v.Violations > 0 {
			violating = append(violating, strconv.Itoa(i))
		}
	}
	if r.Judgement.Verdict != lab.AsExpected {
		return
	}
	right := cmp.Or(strings.Join(violating, ","), none)
	s.questions.Answered(runPart(e), right, func(guess string) bool { return guess == right })
	s.askAfterwards(runPart(e), howMany(
		"What was lost: in how many of the variants did the run show a violation?", len(violating), len(r.Judgement.Variants)))
}
