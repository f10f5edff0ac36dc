package live

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lab/live/stage"
	"locklab/lab/live/steps"
)

// showGame shows what has become of a play. Its texts are made now: a browser that comes later must not look at a play that moves.
func (s *Server) showGame(g *steps.Game) {
	command := s.cfg.StepCommand(g.Experiment, g.Of().Name, g.Names(), g.Moves())
	texts := make(map[bool]string)
	for _, may := range []bool{false, true} {
		texts[may] = s.fragment("play", map[string]any{"Game": g, "Command": command, "May": may})
	}
	s.board.putEach(g.Key(), func(v viewer) string { return texts[v.Trains()] })
}

// plays lists the locks that can be played.
func (s *Server) plays(*http.Request) (page, error) {
	hasNone := func(e lab.Experiment) bool { return len(e.Interleavings) == 0 }
	return page{Name: "plays", Title: "Step by step", Body: slices.DeleteFunc(slices.Clone(s.cfg.Catalogue), hasNone)}, nil
}

// playedLock is the lock that a request names.
func (s *Server) playedLock(r *http.Request) (steps.Lock, error) {
	e, err := s.experimentOf(r)
	if err != nil {
		return steps.Lock{}, err
	}
	if err := e.WithSteps(s.cfg.Catalogue); err != nil {
		return steps.Lock{}, refuse(http.StatusNotFound, err)
	}
	number, _ := strconv.Atoi(r.PathValue("lock"))
	l, err := steps.Find(e, number)
	return l, refuse(http.StatusNotFound, err)
}

// playPage is the play of a lock.
func (s *Server) playPage(r *http.Request) (page, error) {
	l, err := s.playedLock(r)
	if err == nil && s.viewerOf(r).Trains() { // each open play has a Redis, and closes the oldest
		err = s.games.Open(l)
	}
	if err != nil {
		return page{}, err
	}
	s.lead(r, "step by step: "+l.Title)
	goal, impossible := l.Goal(l.Of())
	return page{Name: "play-page", Title: "Step by step: " + l.Of().Name, Parts: []string{l.Key()}, Body: map[string]any{
		"Lock": l, "Work": explore.Work, "Goal": goal, "Impossible": impossible, "Articles": articlesIn(l.Of().Article),
	}}, nil
}

// press does what a button of a play says.
func (s *Server) press(r *http.Request) error {
	l, err := s.playedLock(r)
	if err != nil {
		return err
	}
	if err := s.games.Press(r.Context(), l, r.FormValue("do")); err != nil {
		return refuse(http.StatusBadRequest, fmt.Errorf("%w. Nothing has changed: press another button of the play", err))
	}
	return nil
}

// colourOf is the class with the colour of a client; empty: it is none.
func colourOf(client string) string {
	if client == "" {
		return ""
	}
	return stage.Colour(int(client[0] - 'A'))
}

// ownerOf is the class with the colour of the client that a value of the lock names; empty: it names none.
func ownerOf(value string) string {
	_, name, _ := strings.Cut(value, "attempt-")
	return colourOf(name[:min(1, len(name))])
}
