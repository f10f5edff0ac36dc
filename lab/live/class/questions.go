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
	About   string            `json:",omitempty"` // see [Questions.Describe]
	Guesses map[string]string `json:",omitempty"` // by the person
	Showed  string            `json:",omitempty"` // by the first run after the guesses; empty: none has ended
	Good    map[string]bool   `json:",omitempty"` // of those who have guessed: whether that was what the run showed
	Told    bool              `json:",omitempty"`
	closed  bool
	runs    bool
	stale   bool   // all were reopened during the run: it is asked anew when the run has ended
	text    []byte // of the file; nil: it has changed
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
	About   string         // what [Questions.Describe] noted
}

// Of is the present state of a question for somebody. One that nobody has guessed is open.
func (q *Questions) Of(name, who string) State {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.all[name]
	state := State{
		Open: !of.closed, Runs: of.runs, Mine: of.Guesses[who], Guesses: len(of.Guesses), Counts: make(map[string]int), Showed: of.Showed,
		Told: of.Told, About: of.About,
	}
	for _, guess := range of.Guesses {
		state.Counts[guess]++
	}
	return state
}

// change replaces a question by what change makes of it.
func (q *Questions) change(name string, change func(of *question)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.all[name]
	of.text = nil
	if change(&of); len(of.Guesses) == 0 && !of.closed && of.About == "" {
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
		if of.Guesses == nil {
			of.Guesses = make(map[string]string)
		}
		of.Guesses[who] = guess
	})
	return recorded
}

// Describe notes what a question is about, for a program that starts anew.
func (q *Questions) Describe(name, about string) {
	q.change(name, func(of *question) { of.About = about })
}

// Forget drops the guesses of somebody.
func (q *Questions) Forget(who string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, of := range q.all {
		delete(of.Guesses, who)
		delete(of.Good, who)
		of.text = nil
		q.all[name] = of
	}
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
		if of.Showed != "" {
			return
		}
		of.Showed, of.Good = showed, make(map[string]bool)
		for who, guess := range of.Guesses {
			of.Good[who] = good(guess)
		}
	})
}

// Tell lets everybody see the guesses of a question whose run has ended, and returns whose were good; nil: the run did not show it. It
// reports false for a question that is open, whose run goes on, or that was told before.
func (q *Questions) Tell(name string) (good map[string]bool, told bool) {
	q.change(name, func(of *question) {
		if told = of.closed && !of.runs && !of.Told; told {
			of.Told, good = true, maps.Clone(of.Good) // Forget changes its own
		}
	})
	return good, told
}
