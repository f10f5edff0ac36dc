package live

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"locklab/lab"
	"locklab/lab/explore"
)

const (
	mostGames = 12 // open simultaneously: each has a Redis in this process
)

// played is a lock that can be played, by its experiment and its number from 1.
type played struct {
	lab.Experiment
	Number int
}

func (p played) Part() string    { return fmt.Sprintf("steps-%s-%d", p.ID, p.Number) }
func (p played) Address() string { return fmt.Sprintf("/ui/steps/%s/%d", p.ID, p.Number) }

// game is the play of a lock. Everybody who looks at its page moves the same one.
type game struct {
	played
	*explore.Session
	Searches bool           // for the shortest violation
	Searched []lab.Explored // what the search has found
}

// do does what a button says. With other clients the search must be made anew.
func (g *game) do(ctx context.Context, what string) error {
	before := g.Names()
	err := g.Do(ctx, what)
	if g.Names() != before {
		g.Searched = nil
	}
	return err
}

// game finds the play of a lock, or opens it. Of too many it closes the one that was not used for the longest time. It needs the mutex.
func (s *Server) game(p played) (*game, error) {
	at := slices.IndexFunc(s.games, func(g *game) bool { return g.Part() == p.Part() })
	if at >= 0 {
		g := s.games[at]
		s.games = append(slices.Delete(s.games, at, at+1), g)
		return g, nil
	}
	session, err := explore.NewSession(p.Locks()[p.Number-1])
	if err != nil {
		return nil, err
	}
	g := &game{played: p, Session: session}
	if s.games = append(s.games, g); len(s.games) > mostGames {
		_ = s.games[0].Close()
		s.board.put(s.games[0].Part(), s.fragment("closed", s.games[0]))
		s.games = slices.Delete(s.games, 0, 1)
	}
	return g, nil
}

// endGames closes all plays.
func (s *Server) endGames() {
	s.playing.Lock()
	defer s.playing.Unlock()
	for _, g := range s.games {
		_ = g.Close()
	}
	s.games = nil
}

// with does something with a play, and shows in each browser what has become of it.
func (s *Server) with(p played, do func(g *game) error) error {
	s.playing.Lock()
	defer s.playing.Unlock()
	g, err := s.game(p)
	if err != nil {
		return err
	}
	err = do(g)
	command := s.cfg.StepCommand(p.Experiment, p.Locks()[p.Number-1].Name, g.Names(), g.Moves())
	texts := make(map[bool]string) // a browser that comes later must not look at a play that moves
	for _, may := range []bool{false, true} {
		texts[may] = s.fragment("play", map[string]any{"Game": g, "Command": command, "May": may})
	}
	s.board.putEach(p.Part(), func(v viewer) string { return texts[v.Trains()] })
	return err
}

// shortest looks for the shortest violation, and loads its moves. It takes some seconds at most, in which others can move.
func (s *Server) shortest(ctx context.Context, p played) error {
	goesOn := false
	err := s.with(p, func(g *game) error {
		goesOn, g.Searches = g.Searches, true
		return nil
	})
	if err != nil || goesOn {
		return err
	}
	searched, moves, failed := p.shortest(ctx)
	return s.with(p, func(g *game) error {
		g.Searches = false
		if failed != nil {
			return failed
		}
		g.Searched = searched
		return g.Follow(searched[len(searched)-1].Of.Bounds.Clients, moves)
	})
}

// shortest searches, and returns the moves up to the one that violates; nil: none does.
func (p played) shortest(ctx context.Context) (searched []lab.Explored, moves []explore.Move, err error) {
	lock := p.Locks()[p.Number-1]
	if searched, err = p.Shortest(ctx, lock); err != nil {
		return nil, nil, err
	}
	last := searched[len(searched)-1]
	moves, err = explore.Until(ctx, lock, last.Of.Bounds.Clients, last.Found.Counterexample, last.Of.Violation)
	return searched, moves, err
}

// plays lists the locks that can be played.
func (s *Server) plays(*http.Request) (page, error) {
	return page{Name: "plays", Title: "Step by step", Body: s.cfg.Catalogue}, nil
}

// playedOf is the lock that a request names.
func (s *Server) playedOf(r *http.Request) (p played, err error) {
	if p.Experiment, err = s.experimentOf(r); err != nil {
		return p, err
	}
	if err = p.WithSteps(s.cfg.Catalogue); err == nil {
		if p.Number, err = strconv.Atoi(r.PathValue("lock")); err != nil || p.Number < 1 || p.Number > len(p.Locks()) {
			err = fmt.Errorf("%s has the locks 1 to %d", p.ID, len(p.Locks()))
		}
	}
	return p, refuse(http.StatusNotFound, err)
}

// playPage is the play of a lock.
func (s *Server) playPage(r *http.Request) (page, error) {
	p, err := s.playedOf(r)
	if err == nil && s.viewerOf(r).Trains() { // each open play has a Redis, and closes the oldest
		err = s.with(p, func(*game) error { return nil })
	}
	if err != nil {
		return page{}, err
	}
	s.lead(r, "step by step: "+p.ID)
	lock := p.Locks()[p.Number-1]
	goal, impossible := p.Goal(lock)
	return page{Name: "play-page", Title: "Step by step: " + p.ID, Parts: []string{p.Part()}, Body: map[string]any{
		"Of": p, "Lock": lock, "Work": explore.Work, "Goal": goal, "Impossible": impossible,
	}}, nil
}

// press does what a button of a play says.
func (s *Server) press(r *http.Request) error {
	p, err := s.playedOf(r)
	if err != nil {
		return err
	}
	if what := r.FormValue("do"); what == "shortest" {
		err = s.shortest(r.Context(), p)
	} else {
		err = s.with(p, func(g *game) error { return g.do(r.Context(), what) })
	}
	if err != nil {
		return refuse(http.StatusBadRequest, fmt.Errorf("%w. Nothing has changed: press another button of the play", err))
	}
	return nil
}
