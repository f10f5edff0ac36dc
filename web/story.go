package web

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"

	"locklab/experiments"
	"locklab/experiments/story"
	"locklab/report/html"
)

// told is what has become of a scene, apart from its question.
type told struct {
	result *experiments.Result
	why    string // it could not run
}

// scenePart is the name of the part of the page that changes.
func scenePart(i int) string { return fmt.Sprintf("scene-%d", i+1) }

// showScene shows the present state of a scene in each browser.
func (s *Server) showScene(i int) {
	s.board.putEach(scenePart(i), func(v viewer) string { return s.fragment("told", s.sceneView(i, v)) })
}

// sceneView is a scene as its page shows it.
type sceneView struct {
	story.Scene
	asked
	Number, Of int
	Guess      int // -1: none
	Right      int
	Result     template.HTML
	Verdict    string
	Because    string
	AsExpected bool
	Why        string // nothing is shown
	Stopping   bool
}

func (s *Server) sceneView(i int, viewing viewer) sceneView {
	a := s.ask(scenePart(i), viewing)
	s.mu.Lock()
	t := s.scenes[i]
	s.mu.Unlock()
	scene := story.Scenes[i]
	v := sceneView{
		Scene: scene, asked: a, Number: i + 1, Of: len(story.Scenes), Guess: -1, Right: scene.Right(), Why: t.why,
		Stopping: s.isStopping(scenePart(i) + "-run"),
	}
	if guess, err := strconv.Atoi(a.Mine); err == nil {
		v.Guess = guess
	}
	if t.result != nil {
		v.Result = markup(func(w io.Writer) error { return html.Glance(w, t.result.Saved) })
		v.AsExpected = t.result.Judgement.Verdict == experiments.AsExpected
		v.Verdict, v.Because = t.result.Judgement.Verdict.String(), t.result.Judgement.Why
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

func (s *Server) scenePage(r *http.Request) (page, error) {
	i, err := sceneOf(r)
	if err != nil {
		return page{}, err
	}
	s.lead(r, fmt.Sprintf("scene %d: %s", i+1, story.Scenes[i].Title))
	part := scenePart(i)
	return page{Name: "scene", Title: story.Scenes[i].Title, Parts: []string{part, part + "-run"}, Body: map[string]any{
		"Title": story.Scenes[i].Title, "Text": story.Scenes[i].Text, "Number": i + 1, "Of": len(story.Scenes), "Part": part,
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
	s.showScene(i)
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
	if err == nil {
		err = s.try(trial{experiment: e, trials: 1, part: part + "-run", ended: func(r experiments.Result) { s.endScene(i, r) }})
	}
	if err != nil {
		s.questions.NotRun(part, s.class != nil) // alone, a person presses the answer once more when the scene is played again
		s.setScene(i, told{why: "It could not run: " + err.Error() + "."})
	}
}

// endScene shows what the run of a scene came to.
func (s *Server) endScene(i int, r experiments.Result) {
	t := told{result: &r}
	if r.Record.Interrupted {
		s.questions.NotRun(scenePart(i), s.class != nil)
		t = told{why: "The run was stopped."}
	} else if !s.questions.Ended(scenePart(i)) {
		t = told{}
	} else if r.Judgement.Verdict == experiments.AsExpected {
		right := strconv.Itoa(story.Scenes[i].Right())
		s.answered(scenePart(i), right, func(guess string) bool { return guess == right })
	}
	s.setScene(i, t)
	s.board.put(scenePart(i)+"-run", "")
}

// setScene shows what has become of a scene.
func (s *Server) setScene(i int, t told) {
	s.mu.Lock()
	s.scenes[i] = t
	s.mu.Unlock()
	s.showScene(i)
}

// stopScene stops the run of a scene.
func (s *Server) stopScene(r *http.Request) error {
	i, err := sceneOf(r)
	if err == nil {
		s.stop(scenePart(i) + "-run")
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
