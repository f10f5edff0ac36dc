package live

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lab/live/steps"
)

// showGame shows what has become of a play. Its texts are made now: a browser that comes later must not look at a play that moves.
func (s *Server) showGame(g *steps.Game) {
	command := s.cfg.StepCommand(g.ID, g.Of.Name, g.Names(), g.Moves())
	show := func(why string) string {
		v := steps.View{Game: g, Action: fmt.Sprintf("/ui/steps/%s/%d", g.ID, g.Number), Command: command, Why: why}
		return string(markup(func(w io.Writer) error { return steps.Show(w, v) }))
	}
	looksOn, plays := show("The trainer moves the clients."), show("")
	s.board.putEach(g.Key(), func(v viewer) string {
		if v.Trains() {
			return plays
		}
		return looksOn
	})
}

// plays lists the locks that can be played.
func (s *Server) plays(r *http.Request) (page, error) {
	s.lead(r, "step by step")
	return playsPage(s.cfg.Catalogue), nil
}

func playsPage(c lab.Catalogue) page {
	return page{Name: "plays", Title: "Step by step", Body: playable(c)}
}

// playable are the experiments that have locks to play.
func playable(c lab.Catalogue) lab.Catalogue {
	return slices.DeleteFunc(slices.Clone(c), func(e lab.Experiment) bool { return len(e.Interleavings) == 0 })
}

// locksOf are the locks of an experiment that can be played.
func locksOf(e lab.Experiment) (all []steps.Lock) {
	for i, l := range e.Locks() {
		all = append(all, steps.Lock{ID: e.ID, Title: e.Title, Number: i + 1, Of: l, Searches: e.Searches(l)})
	}
	return all
}

// playedLock is the lock that a request names, with all of its experiment.
func (s *Server) playedLock(r *http.Request) (l steps.Lock, all []steps.Lock, err error) {
	e, err := s.experimentOf(r)
	if err != nil {
		return l, nil, err
	}
	if err := e.WithSteps(s.cfg.Catalogue); err != nil {
		return l, nil, refuse(http.StatusNotFound, err)
	}
	all = locksOf(e)
	number, _ := strconv.Atoi(r.PathValue("lock"))
	if number < 1 || number > len(all) {
		return l, nil, refuse(http.StatusNotFound, fmt.Errorf("%s has the locks 1 to %d", e.ID, len(all)))
	}
	return all[number-1], all, nil
}

// playPage is the play of a lock.
func (s *Server) playPage(r *http.Request) (page, error) {
	l, all, err := s.playedLock(r)
	if err == nil && s.viewerOf(r).Trains() { // each open play has a Redis, and closes the oldest
		err = s.games.Open(l)
	}
	if err != nil {
		return page{}, err
	}
	s.lead(r, "step by step: "+l.Title)
	return playPageOf(l, all), nil
}

func playPageOf(l steps.Lock, all []steps.Lock) page {
	goal, impossible := explore.Goal(l.Searches)
	return page{Name: "play-page", Title: "Step by step: " + l.Of.Name, Parts: []string{l.Key()}, Body: map[string]any{
		"Lock": l, "Locks": all, "Work": explore.Work, "Goal": goal, "Impossible": impossible,
	}}
}

// press does what a button of a play says.
func (s *Server) press(r *http.Request) error {
	l, _, err := s.playedLock(r)
	if err != nil {
		return err
	}
	return refuse(http.StatusBadRequest, s.games.Press(r.Context(), l, r.FormValue("do")))
}
