package live

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"locklab/lab"
	"locklab/lab/live/story"
	"locklab/lab/report/outcome"
)

// scene is a scene of the story, which a quiz is about. Its number counts from 0.
type scene struct {
	story.Scene
	runs   lab.Experiment
	number int
}

func sceneName(number int) string { return fmt.Sprintf("scene-%d", number+1) }

func (c scene) link() link       { return link{fmt.Sprintf("/ui/story/%d", c.number+1), c.Title} }
func (c scene) template() string { return "scene" }
func (c scene) parts() []string  { return []string{runPart(sceneName(c.number))} }

func (c scene) check(r *http.Request) (string, error) { return pick(r, len(c.Choices)) }

// sceneRan is what the run of a scene has shown.
type sceneRan struct {
	lab.Judgement
	Variants []ranVariant
	Recorded string // the day of a recorded one; empty: it is not
	Lacks    error  // why it is recorded; nil on a page of files
}

// ranVariant is what a variant of a scene has shown.
type ranVariant struct {
	story.Result
	Shown template.HTML
	Does  string
	Fixes bool // it prevents the loss
	Asks  bool // a class is asked what it has shown
}

// Drawing can be played.
func (v ranVariant) Drawing() template.HTML {
	return markup(func(w io.Writer) error { return v.Draw(w, v.Asks) })
}

// isRecorded reports whether the servers of the scene are missing.
func (c scene) isRecorded(q *quiz) bool {
	return q.s.cfg.Static || q.s.cfg.Options.CannotRun(c.runs) != nil
}

// run runs the experiment of the scene, or shows a recorded run of it.
func (c scene) run(ctx context.Context, q *quiz) conclusion {
	if c.isRecorded(q) {
		return c.recorded(q)
	}
	o, drawn := q.s.cfg.Options, c.Stage
	drawn.Asks = q.s.viewQuestion(q.present(), viewer{}).Hidden()
	now := newRunNow(c.runs, drawn)
	o.Trials = 1
	r := q.s.runLab(ctx, c.runs, o, now, func() {
		q.s.board.putMade(runPart(q.name), func() string { return q.s.fragment("scene-runs", now.view()) })
	})
	if r.Record.Interrupted {
		return conclusion{failed: cmp.Or(context.Cause(ctx), errStopped)}
	}
	return c.conclude(r.Saved, sceneRan{})
}

// recorded shows a recorded run, and says why.
func (c scene) recorded(q *quiz) conclusion {
	run, err := c.Recorded(q.s.cfg.Catalogue)
	if err != nil {
		return conclusion{failed: err}
	}
	ran := sceneRan{Recorded: run.Record.Began.Format(time.DateOnly)}
	if !q.s.cfg.Static {
		ran.Lacks = q.s.cfg.Options.CannotRun(c.runs)
	}
	return c.conclude(run, ran)
}

func (c scene) conclude(run lab.Saved, ran sceneRan) conclusion {
	ran.Judgement = run.Judgement
	for _, v := range c.Results(run) {
		ran.Variants = append(ran.Variants, ranVariant{v, shownInStory(v), cmp.Or(c.Called[v.Name], v.Name), v.Name == c.Fix, false})
	}
	o := conclusion{result: ran, after: afterwards{Text: "Now that you have seen it: what was lost?", Choices: c.After[:], Right: c.Lost}}
	if run.Judgement.Verdict == lab.AsExpected {
		o.right = strconv.Itoa(c.Right())
	}
	return o
}

// shownInStory is what a variant showed. The story has predicted it, and does not say so each time.
func shownInStory(r story.Result) template.HTML {
	switch {
	case r.Trials == 0:
		return shown(outcome.Whole(r.Verdict))
	case r.Verdict != lab.AsExpected:
		return shown(outcome.Of(r.Seen(), r.Violation != nil, r.Verdict))
	case r.Violation != nil:
		return template.HTML(`<span class="verdict violation">✗ ` + template.HTMLEscapeString(r.Seen()) + `</span>`)
	}
	return shown(outcome.Outcome{Words: r.Seen(), Tone: outcome.Good})
}

// draw shows the drawings of the newest run, or who is there before the first one.
func (c scene) draw(q *quiz) {
	if q.ran == nil {
		q.s.board.put(runPart(q.name), string(markup(c.Still)))
		return
	}
	variants := slices.Clone(q.ran.result.(sceneRan).Variants)
	asks := q.s.viewQuestion(q.question, viewer{}).Hidden()
	for i := range variants {
		variants[i].Asks = asks
	}
	q.s.board.putMade(runPart(q.name), func() string { return q.s.fragment("scene-ran", variants) })
}

func (c scene) reset(q *quiz) { q.forget() }

// sceneView is a scene as its page shows it.
type sceneView struct {
	story.Scene
	Asked  choices
	Number int // from 1
	Ran    sceneRan
	Failed bool // the run has not shown what it should
	Scenes []sceneLink
}

// sceneLink leads to a scene.
type sceneLink struct {
	link
	Played bool
}

func (c scene) data(q *quiz, v *quizView) any {
	var texts []string
	for _, choice := range c.Choices {
		texts = append(texts, choice.Text)
	}
	asked := v.choices("guess", v.questionView, c.Question, texts, c.Right())
	if asked.Mine >= 0 {
		asked.Mistake = c.Choices[asked.Mine].Wrong
	}
	of := sceneView{Scene: c.Scene, Asked: asked, Number: c.number + 1}
	if v.Ended {
		of.Ran = v.ran.result.(sceneRan)
		of.Failed = of.Ran.Verdict != lab.AsExpected
	}
	for i := range story.Scenes {
		other := q.s.scene(i)
		state := q.s.viewQuestion(other.present(), viewer{})
		of.Scenes = append(of.Scenes, sceneLink{other.subject.link(), !state.Open && !state.Runs})
	}
	return of
}

// scene is the quiz about a scene.
func (s *Server) scene(number int) *quiz { return s.quizzes[sceneName(number)] }

// scenePage is the page of a scene.
func (s *Server) scenePage(r *http.Request) (page, error) {
	n, err := strconv.Atoi(r.PathValue("scene"))
	if err != nil || n < 1 || n > len(story.Scenes) {
		return page{}, refuse(http.StatusNotFound, fmt.Errorf("the story has the scenes 1 to %d", len(story.Scenes)))
	}
	q := s.scene(n - 1)
	s.lead(r, fmt.Sprintf("scene %d: %s", n, q.subject.link().Text))
	return q.page(q.view(s.viewerOf(r), nil)), nil
}

// storyPage compares what a person has expected with what happened.
func (s *Server) storyPage(r *http.Request) (page, error) {
	s.lead(r, "the end of the story")
	return s.endOfStory(s.viewerOf(r)), nil
}

func (s *Server) endOfStory(of viewer) page {
	var all []*quizView
	right, guessed := 0, 0
	for i := range story.Scenes {
		v := s.scene(i).view(of, nil)
		all = append(all, v)
		if asked := v.Of.(sceneView).Asked; asked.Shows() && asked.Mine >= 0 {
			guessed++
			if asked.IsRight() {
				right++
			}
		}
	}
	return page{Name: "story", Title: "The story", Body: map[string]any{
		"Scenes": all, "Right": right, "Guessed": guessed, "Experiments": len(s.cfg.Catalogue),
	}}
}
