package stage

import (
	"slices"
	"strings"

	"locklab/lab/history"
)

// act is an event with what belongs to it.
type act struct {
	history.Event
	result      history.Kind   // of a request: a grant, a refusal, or nothing yet
	then        *history.Event // the write after a read
	sent, reply string         // its command
	failed      string         // why a release has not deleted the lock
}

// acts are those of a trial.
type acts []act

// last is the newest act of a client that is of one of the kinds.
func (all acts) last(of string, kinds ...history.Kind) *act {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Timeline == of && slices.Contains(kinds, all[i].Kind) {
			return &all[i]
		}
	}
	return new(act) // nobody will see what belongs to it
}

// follows is the newest act of all, if it is of the client and the kind; nil: it is another.
func (all acts) follows(of string, kind history.Kind) *act {
	if n := len(all); n > 0 && all[n-1].Timeline == of && all[n-1].Kind == kind {
		return &all[n-1]
	}
	return nil
}

// actsOf joins events that are one thing for a person, and leaves out what nobody needs. Nothing is left after the last event of a
// violation.
func actsOf(events []history.Event, found *history.Violation) (all acts) {
	for _, e := range events {
		if found != nil && e.Seq > decisive(found) {
			break
		}
		all = all.with(e)
	}
	for n := len(all); n > 0 && all[n-1].Kind == history.Release && slices.ContainsFunc(events, isFinal); n-- {
		all = all[:n-1] // it changes nothing for anybody
	}
	return all
}

// with adds an event, to an act that it belongs to if there is one.
func (all acts) with(e history.Event) acts {
	switch e.Kind {
	case history.Measure, history.Lose, history.Final:
		return all
	case history.Command:
		if a := all.last(e.Timeline, history.Request, history.Release); a.sent == "" {
			a.sent, a.reply, _ = strings.Cut(e.Text, " → ")
		}
		return all
	case history.Released:
		all.last(e.Timeline, history.Release).failed = e.Text
		return all
	case history.Grant, history.Refuse:
		if a := all.follows(e.Timeline, history.Request); a != nil {
			a.result, a.Token, a.Text = e.Kind, e.Token, e.Text
			return all
		}
		return append(all, act{Event: e, result: e.Kind})
	case history.Write:
		if a := all.follows(e.Timeline, history.Read); a != nil && a.then == nil {
			a.then = &e
			return all
		}
	}
	return append(all, act{Event: e})
}

func isFinal(e history.Event) bool { return e.Kind == history.Final }

// decisive is the number of the event with which a violation has happened.
func decisive(found *history.Violation) int {
	if found == nil || len(found.Events) == 0 {
		return 0
	}
	return slices.Max(found.Events)
}

// doing are the kinds of events that clients have.
var doing = []history.Kind{
	history.Request, history.Grant, history.Refuse, history.Reenter, history.Release, history.Die, history.Read, history.Write, history.Stale,
	history.Win,
}

// clientsOf are the names of the clients of a trial, and of those that will come.
func clientsOf(events []history.Event, more []string) []string {
	names := slices.Clone(more)
	for _, e := range events {
		if slices.Contains(doing, e.Kind) && !slices.Contains(names, e.Timeline) {
			names = append(names, e.Timeline)
		}
	}
	slices.SortFunc(names, numerically)
	return names
}
