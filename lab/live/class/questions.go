// Package class has what people expect of runs before they see them. It has the questions with their guesses, and the participants of a
// class with their scores. It knows nothing of pages.
package class

import (
	"maps"
	"sync"
)

// Questions are asked before runs, each by a name. Somebody may change a guess until the run begins. The guesses of all are told
// later.
type Questions struct {
	mu  sync.Mutex
	all map[string]question
}

// question is asked before a run.
type question struct {
	guesses map[string]string // by the person
	closed  bool
	runs    bool
	stale   bool            // all were reopened during the run: it is asked anew when the run has ended
	showed  string          // by the first run after the guesses; empty: none has ended
	good    map[string]bool // of those who have guessed: whether that was what the run showed
	told    bool
}

// NewQuestions returns questions without a guess.
func NewQuestions() *Questions { return &Questions{all: make(map[string]question)} }

// State is a question as it is now, for somebody.
type State struct {
	Open    bool           // one may guess
	Runs    bool           // its run goes on, or waits
	Mine    string         // guess of the person; empty: there is none
	Guesses int            // that were made
	Counts  map[string]int // of each guess
	Showed  string         // what the run showed; empty: none has ended
	Told    bool           // everybody may see the guesses, and which are right
}

// Of is the present state of a question for somebody. One that nobody has guessed is open.
func (q *Questions) Of(name, who string) State {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.all[name]
	state := State{
		Open: !of.closed, Runs: of.runs, Mine: of.guesses[who], Guesses: len(of.guesses), Counts: make(map[string]int), Showed: of.showed,
		Told: of.told,
	}
	for _, guess := range of.guesses {
		state.Counts[guess]++
	}
	return state
}

// change replaces a question by what change makes of it.
func (q *Questions) change(name string, change func(of *question)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.all[name]
	if change(&of); of.guesses == nil && !of.closed {
		delete(q.all, name)
		return
	}
	q.all[name] = of
}

// Guess records a guess of somebody. It reports false, and records nothing, when the run has begun.
func (q *Questions) Guess(name, who, guess string) (recorded bool) {
	q.change(name, func(of *question) {
		if recorded = !of.closed; !recorded {
			return
		}
		if of.guesses == nil {
			of.guesses = make(map[string]string)
		}
		of.guesses[who] = guess
	})
	return recorded
}

// Close ends the guesses of a question, because its run begins. It reports false when they had ended before.
func (q *Questions) Close(name string) (opened bool) {
	q.change(name, func(of *question) { opened, of.closed, of.runs = !of.closed, true, true })
	return opened
}

// Ended notes that the run of a question has ended. It reports false when all were reopened meanwhile: then the question is open again.
func (q *Questions) Ended(name string) (counts bool) {
	q.change(name, func(of *question) {
		if counts = !of.stale; counts {
			of.runs = false
		} else {
			*of = question{}
		}
	})
	return counts
}

// NotRun notes that the run of a question has not begun, or was stopped. The guesses of one that was opened stay, and can be changed. It
// reports false as [Questions.Ended] does.
func (q *Questions) NotRun(name string, opened bool) (counts bool) {
	if counts = q.Ended(name); counts && opened {
		q.change(name, func(of *question) { of.closed = false })
	}
	return counts
}

// Reopen asks a question anew, without a guess, unless it runs.
func (q *Questions) Reopen(name string) (reopened bool) {
	q.change(name, func(of *question) {
		if reopened = !of.runs; reopened {
			*of = question{}
		}
	})
	return reopened
}

// ReopenAll asks every question anew; one that runs when its run has ended.
func (q *Questions) ReopenAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.all, func(_ string, of question) bool { return !of.runs })
	for name := range q.all {
		q.all[name] = question{closed: true, runs: true, stale: true}
	}
}

// Answered notes what the first run of a question showed, and which guesses are good.
func (q *Questions) Answered(name, showed string, good func(guess string) bool) {
	q.change(name, func(of *question) {
		if of.showed != "" {
			return
		}
		of.showed, of.good = showed, make(map[string]bool)
		for who, guess := range of.guesses {
			of.good[who] = good(guess)
		}
	})
}

// Tell lets everybody see the guesses of a question whose run has ended, and returns whose were good; nil: the run did not show it. It
// reports false for a question that is open, whose run goes on, or that was told before.
func (q *Questions) Tell(name string) (good map[string]bool, told bool) {
	q.change(name, func(of *question) {
		if told = of.closed && !of.runs && !of.told; told {
			of.told, good = true, of.good
		}
	})
	return good, told
}
