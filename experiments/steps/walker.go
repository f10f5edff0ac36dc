package steps

import (
	"fmt"
	"strconv"

	"locklab/lockstrategy/naive"
)

// Counter is the key of the counter behind the lock.
const Counter = "counter"

// phase is where in its life a client is.
type phase int

const (
	acquiring phase = iota
	reading
	renewing
	writing
	releasing
	ended
	undoing // an acquire of which it knows no answer
)

// Walker is a client on its way through the steps of its lock.
type Walker struct {
	naive.Client
	lock  naive.Lock
	phase phase
	at    int // the next step of the phase's list
	read  int64
	wrote int64 // 0: nothing yet
	how   string
}

// How the life of a client ended.
const (
	refused    = "refused"
	unanswered = "without an answer" // to its acquire: it does not believe to have the lock
	dead       = "dead"
	done       = "done"
)

func newWalker(lock naive.Lock, client naive.Client) *Walker {
	return &Walker{Client: client, lock: lock}
}

// Ended reports whether nothing is left to do, and how it ended.
func (w *Walker) Ended() (how string, over bool) { return w.how, w.phase == ended }

// Where says where it is, and what its next step is; empty: it has come to its end.
func (w *Walker) Where() (where, next string) {
	switch w.phase {
	case ended:
		if w.how == done {
			return fmt.Sprintf("done, wrote %d", w.wrote), ""
		}
		return w.how, ""
	case acquiring:
		where = "wants the lock"
		if w.at > 0 {
			where = "is taking the lock"
		}
	case reading:
		where = "is inside"
	case renewing, writing:
		where = fmt.Sprintf("is inside, read %d", w.read)
	case releasing:
		where = fmt.Sprintf("gives it back, wrote %d", w.wrote)
	case undoing:
		where = "has no answer, and undoes"
	}
	return where, w.next().Name
}

// next is its next step. What the lock has no steps for is passed over.
func (w *Walker) next() naive.Step {
	switch w.phase {
	case reading:
		return naive.Step{Name: "GET counter", Command: func(*naive.Client) []any { return []any{"GET", Counter} }}
	case writing:
		return naive.Step{Name: "SET counter", Command: func(*naive.Client) []any { return []any{"SET", Counter, w.read + 1} }}
	}
	return w.list()[w.at]
}

func (w *Walker) list() []naive.Step {
	switch w.phase {
	case acquiring:
		return w.lock.Acquire
	case renewing:
		return w.lock.Renew
	case releasing:
		return w.lock.Release
	case undoing:
		return w.lock.Undo
	}
	return nil
}

// answered takes the answer to its step, and goes on.
func (w *Walker) answered(step naive.Step, answer any) error {
	switch w.phase {
	case reading:
		text, _ := answer.(string) // there is none before the first write
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			w.read = n
		} else if text != "" {
			return fmt.Errorf("the counter holds %q", text)
		}
		w.enter(renewing)
	case writing:
		w.wrote = w.read + 1
		w.enter(releasing)
	default:
		what := naive.On
		if step.Then != nil {
			what = step.Then(&w.Client, answer)
		}
		if what == naive.Refused && w.phase == acquiring {
			w.phase, w.how = ended, refused
			return nil
		}
		switch w.at++; {
		case w.at < len(w.list()) && what != naive.Skip:
		case w.phase == undoing:
			w.phase, w.how = ended, unanswered
		default:
			w.enter(w.phase + 1)
		}
	}
	return nil
}

// unanswered goes on without an answer to a step of its acquire.
func (w *Walker) unanswered() {
	w.phase, w.at = undoing, 0
	if len(w.lock.Undo) == 0 {
		w.phase, w.how = ended, unanswered
	}
}

// enter begins a phase, or the first after it that has steps.
func (w *Walker) enter(p phase) {
	w.phase, w.at = p, 0
	switch {
	case p == ended:
		w.how = done
	case p != reading && p != writing && len(w.list()) == 0:
		w.enter(p + 1)
	}
}

func (w *Walker) die() { w.phase, w.how = ended, dead }

// state is all that its future depends on, as text.
func (w *Walker) state() string {
	return fmt.Sprintf("%d.%d %d %d %s %q", w.phase, w.at, w.read, w.wrote, w.how, w.Found)
}
