package live

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/scorecard"
)

// triedLock is a scorecard of app lab try.
type triedLock struct {
	*scorecard.Scorecard
	Page   string // of its timelines: its name in the path
	Counts []countOf
	Failed []scorecard.Score // rows that do not hold
	Step   *scorecard.Step   // of the exercise, that is next; nil: the lock is none of the exercise, or it is done
	Again  []string          // rows of that step that were inconclusive
	Done   bool              // with the exercise
	Whole  bool              // all rows were tried: some of them say too little about the next step

	Earlier []triedLock // runs of a lock with the same name, the newest first
}

// exercised is how the name of a lock of the exercise begins, as the templates have it.
const exercised = "my lock"

type countOf struct {
	N     int
	State scorecard.State
}

// locksPage lists the scorecards in the folder of the saved runs. Programs are started by app lab try only: the page starts none.
func (s *Server) locksPage(*http.Request) (page, error) {
	cards, err := scorecard.Saved(s.cfg.Store)
	var all []triedLock
	for _, card := range cards {
		l := lockOf(card)
		if i := slices.IndexFunc(all, func(newer triedLock) bool { return newer.Name == l.Name }); i >= 0 {
			all[i].follow(l)
		} else {
			all = append(all, l)
		}
	}
	body := map[string]any{"Locks": all, "Program": s.cfg.Program, "Unreadable": err, "Exercise": scorecard.Exercise}
	return page{Name: "locks", Title: "Locks", Body: body}, nil
}

// follow adds an earlier run of the same lock. The next step is that of the newest whole run.
func (l *triedLock) follow(earlier triedLock) {
	l.Earlier = append(l.Earlier, earlier)
	if !l.Whole && earlier.Whole {
		l.Step, l.Again, l.Whole = earlier.Step, earlier.Again, true
		l.Done = earlier.Done && l.Count(scorecard.Violated) == 0
	}
}

func lockOf(card *scorecard.Scorecard) triedLock {
	l := triedLock{Scorecard: card, Page: strings.TrimSuffix(filepath.Base(card.Report), ".html")}
	for _, state := range scorecard.States {
		if n := card.Count(state); n > 0 {
			l.Counts = append(l.Counts, countOf{n, state})
		}
	}
	l.Failed = slices.DeleteFunc(slices.Clone(card.Rows), func(r scorecard.Score) bool {
		return r.State != scorecard.Violated && r.State != scorecard.Inconclusive
	})
	l.Whole = len(card.Rows) == len(scorecard.Rows()) && card.Stopped == ""
	if step, done := card.Next(); l.Whole && strings.HasPrefix(card.Name, exercised) {
		l.Done = done
		if !done {
			l.Step = &step
			for _, row := range l.Failed {
				if number := lab.Number(row.ID); row.State == scorecard.Inconclusive && slices.Contains(step.Rows, number) {
					l.Again = append(l.Again, number)
				}
			}
		}
	}
	return l
}

// lockReport writes the page of a scorecard. It has a policy of its own, because it is one file.
func (s *Server) lockReport(w http.ResponseWriter, r *http.Request) error {
	cards, _ := scorecard.Saved(s.cfg.Store)
	i := slices.IndexFunc(cards, func(c *scorecard.Scorecard) bool { return lockOf(c).Page == r.PathValue("lock") })
	if i < 0 {
		return refuse(http.StatusNotFound, errors.New("no lock of that name was tried; the page of the locks lists those that were"))
	}
	text, err := os.ReadFile(cards[i].Report)
	if err != nil {
		return refuse(http.StatusNotFound, err)
	}
	w.Header().Del("Content-Security-Policy")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text)
	return nil
}
