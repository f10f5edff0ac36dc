package live

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"locklab/lab"
	"locklab/lab/live/story"
	"locklab/lab/report/html"
)

// told is what has become of a scene, apart from its question.
type told struct {
	result *lab.Judgement
	why    string // it could not run
	old    string // why a recorded run is shown
}

// The parts of a scene's page.
func scenePart(i int) string    { return fmt.Sprintf("scene-%d", i+1) }
func sceneGuesses(i int) string { return scenePart(i) + "-guesses" }
func sceneEnds(i int) string    { return scenePart(i) + "-ends" }
func sceneRun(i int) string     { return scenePart(i) + "-run" }
func sceneGo(i int) string      { return scenePart(i) + "-go" }

// showScene shows the present state of a scene in each browser, apart from what its run draws.
func (s *Server) showScene(i int) {
	s.showSceneGuesses(i)
	each := func(part, template string) {
		s.board.putEach(part, func(v viewer) string { return s.fragment(template, s.sceneView(i, v)) })
	}
	each(sceneEnds(i), "scene-ends")
	each(sceneGo(i), "scene-go")
	s.showSceneAfter(i)
}

// showSceneAfter shows what has changed with an answer after the run.
func (s *Server) showSceneAfter(i int) {
	s.showAfter(afterName(scenePart(i)), scenePart(i), fmt.Sprintf("/ui/story/%d/answer", i+1))
}

// showSceneGuesses shows what has changed with a guess.
func (s *Server) showSceneGuesses(i int) {
	s.board.putEach(scenePart(i), func(v viewer) string { return s.fragment("scene-question", s.sceneView(i, v)) })
	s.board.putEach(sceneGuesses(i), func(v viewer) string { return s.fragment("guesses", s.ask(scenePart(i), v)) })
}

// sceneView is a scene as its page shows it.
type sceneView struct {
	story.Scene
	asked
	Number, Of int
	Guess      int // -1: none
	Right      int
	Ended      bool // its run has ended
	Shown      bool // which answer is right
	Verdict    string
	Because    string
	AsExpected bool
	Why        string // nothing is shown
	Old        string // why a recorded run is shown
	Stopping   bool
}

func (s *Server) sceneView(i int, viewing viewer) sceneView {
	a := s.ask(scenePart(i), viewing)
	s.mu.Lock()
	t := s.scenes[i]
	s.mu.Unlock()
	scene := story.Scenes[i]
	v := sceneView{
		Scene: scene, asked: a, Number: i + 1, Of: len(story.Scenes), Guess: -1, Right: scene.Right(), Why: t.why, Old: t.old,
		Stopping: s.isStopping(sceneRun(i)), Ended: t.result != nil,
	}
	if guess, err := strconv.Atoi(a.Mine); err == nil {
		v.Guess = guess
	}
	if v.Ended {
		v.AsExpected = t.result.Verdict == lab.AsExpected
		v.Verdict, v.Because = t.result.Verdict.String(), t.result.Why
		v.Shown = v.AsExpected && !a.Hidden()
	}
	return v
}

// Votes is how many have chosen a choice.
func (v sceneView) Votes(choice int) int { return v.Counts[strconv.Itoa(choice)] }

// sceneOf is the scene that a request names, counted from 0.
func sceneOf(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PathValue("scene"))
	if err != nil || n < 1 || n > len(story.Scenes) {
		return 0, refuse(http.StatusNotFound, fmt.Errorf("the story has the scenes 1 to %d", len(story.Scenes)))
	}
	return n - 1, nil
}

// link leads to a scene.
func (v sceneView) link() link {
	return link{fmt.Sprintf("/ui/story/%d", v.Number), fmt.Sprintf("scene %d: %s", v.Number, v.Title)}
}

// sceneViews are all scenes.
func (s *Server) sceneViews(v viewer) (all []sceneView) {
	for i := range story.Scenes {
		all = append(all, s.sceneView(i, v))
	}
	return all
}

func (s *Server) scenePage(r *http.Request) (page, error) {
	i, err := sceneOf(r)
	if err != nil {
		return page{}, err
	}
	all := s.sceneViews(s.viewerOf(r))
	s.lead(r, all[i].link().Text)
	after := afterName(scenePart(i))
	parts := []string{scenePart(i), sceneGuesses(i), sceneEnds(i), after, afterCount(after), sceneRun(i), sceneGo(i)}
	return page{Name: "scene", Title: story.Scenes[i].Title, Parts: parts, Body: map[string]any{
		"Scene": all[i], "Scenes": all, "Question": scenePart(i), "Guesses": sceneGuesses(i), "Ends": sceneEnds(i),
		"After": after, "Count": afterCount(after), "Run": sceneRun(i), "Go": sceneGo(i),
	}}, nil
}

// storyPage compares what a person has expected with what happened.
func (s *Server) storyPage(r *http.Request) (page, error) {
	s.lead(r, "the end of the story")
	all, right, guessed := s.sceneViews(s.viewerOf(r)), 0, 0
	for _, v := range all {
		if v.Shown && v.Guess >= 0 {
			guessed++
			if v.Guess == v.Right {
				right++
			}
		}
	}
	return page{Name: "story", Title: "The story", Body: map[string]any{
		"Scenes": all, "Right": right, "Guessed": guessed, "Experiments": len(s.cfg.Catalogue),
	}}, nil
}

// guessScene takes the guess of a scene. Without a class its run begins.
func (s *Server) guessScene(r *http.Request) error {
	i, err := sceneOf(r)
	if err != nil {
		return err
	}
	guess, err := strconv.Atoi(r.FormValue("choice"))
	if err != nil || guess < 0 || guess >= len(story.Scenes[i].Choices) {
		return refuse(http.StatusBadRequest, errors.New("choose one of the answers, and press it"))
	}
	if err := s.guess(scenePart(i), s.viewerOf(r), strconv.Itoa(guess)); err != nil {
		return err
	}
	if s.class == nil {
		s.begin(i)
	}
	s.showSceneGuesses(i)
	return nil
}

// runScene begins the run of a scene, for a class.
func (s *Server) runScene(r *http.Request) error {
	i, err := sceneOf(r)
	if err == nil {
		s.begin(i)
	}
	return err
}

// begin begins the run of a scene, unless it has begun. When it cannot begin, the guesses stay.
func (s *Server) begin(i int) {
	part := scenePart(i)
	if !s.questions.Close(part) {
		return
	}
	s.setScene(i, told{})
	e, err := story.Scenes[i].In(s.cfg.Catalogue)
	if lacks := s.cfg.Options.CannotRun(e); err == nil && lacks != nil {
		if run, is := story.Scenes[i].Recorded(s.cfg.Catalogue); is {
			s.endScene(i, run, fmt.Sprintf("This run was recorded on %s: %v.", run.Record.Began.Format(time.DateOnly), lacks))
			return
		}
	}
	if err == nil {
		ended := func(r lab.Result) { s.endScene(i, r.Saved, "") }
		err = s.try(trial{
			experiment: e, trials: 1, part: sceneRun(i), draws: "scene-runs", tokens: story.Scenes[i].Tokens, ended: ended,
		})
	}
	if err != nil {
		s.questions.NotRun(part, s.class != nil) // alone, a person presses the answer once more when the scene is played again
		s.setScene(i, told{why: "It could not run: " + err.Error() + "."})
		return
	}
	s.showScene(i)
}

// endScene shows what the run of a scene came to. old says why it is a recorded one.
func (s *Server) endScene(i int, r lab.Saved, old string) {
	name, ran := scenePart(i), func(viewer) string { return "" }
	result := sceneResult(story.Scenes[i], r)
	t := told{result: &r.Judgement, old: old}
	s.ending.Lock()
	defer s.ending.Unlock()
	if r.Record.Interrupted {
		s.questions.NotRun(name, s.class != nil)
		t = told{why: "The run was stopped."}
	} else if !s.questions.Ended(name) {
		t = told{}
	} else {
		ran = func(v viewer) string {
			return s.fragment("scene-ran", map[string]any{"Variants": result, "Hidden": s.ask(name, v).Hidden()})
		}
		if r.Judgement.Verdict == lab.AsExpected {
			right, scene := strconv.Itoa(story.Scenes[i].Right()), story.Scenes[i]
			s.questions.Answered(name, right, func(guess string) bool { return guess == right })
			s.askAfterwards(name, afterwards{Text: "What was lost?", Choices: scene.After[:], Right: scene.Lost})
		}
	}
	s.board.putEach(sceneRun(i), ran)
	s.setScene(i, t)
}

// ranVariant is what a variant of a scene has shown.
type ranVariant struct {
	html.SceneVariant
	Drawing, Shown template.HTML
	Does           string
}

func sceneResult(scene story.Scene, run lab.Saved) (all []ranVariant) {
	for _, v := range html.SceneVariants(run, scene.Tokens) {
		all = append(all, ranVariant{v, markup(v.Draw), shown(v.Outcome()), cmp.Or(scene.Called[v.Name], v.Name)})
	}
	return all
}

// setScene shows what has become of a scene.
func (s *Server) setScene(i int, t told) {
	s.mu.Lock()
	s.scenes[i] = t
	s.mu.Unlock()
	if t.result == nil {
		s.forget(scenePart(i))
		if !s.isBusy(sceneRun(i)) {
			s.board.put(sceneRun(i), "")
		}
	}
	s.showScene(i)
}

// answerScene takes what a participant has seen.
func (s *Server) answerScene(r *http.Request) error {
	i, err := sceneOf(r)
	if err == nil {
		err = s.answer(r, scenePart(i))
		s.showSceneAfter(i)
	}
	return err
}

// tellScene shows a class the guesses, and which answers are right.
func (s *Server) tellScene(r *http.Request) error {
	i, err := sceneOf(r)
	if err == nil {
		err = s.tell(scenePart(i))
		s.board.again(sceneRun(i))
		s.showScene(i)
	}
	return err
}

// stopScene stops the run of a scene.
func (s *Server) stopScene(r *http.Request) error {
	i, err := sceneOf(r)
	if err == nil {
		s.stop(sceneRun(i))
		s.showScene(i)
	}
	return err
}

// again asks the question of a scene anew.
func (s *Server) again(r *http.Request) error {
	i, err := sceneOf(r)
	if err == nil && s.questions.Reopen(scenePart(i)) {
		s.setScene(i, told{})
	}
	return err
}
