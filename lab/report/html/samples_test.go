package html

import (
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/history"
)

// made is an experiment with an empty control and a variant with the given events.
func made(check func([]history.Event) []history.Violation, events ...history.Event) lab.Saved {
	e := lab.Experiment{
		ID: "X01-made", Articles: lab.Articles{"A4"}, Claim: "Something is so.", Check: check,
		Variants: []lab.Variant{{Name: "control"}, {Name: "variant", Expect: lab.Sometimes}},
	}
	r := lab.Record{Format: lab.Format, Experiment: e.ID}
	for _, a := range e.Variants {
		r.Variants = append(r.Variants, lab.VariantRecord{Name: a.Name, Trials: []lab.TrialRecord{{Number: 1}}})
	}
	for i, event := range events {
		event.Seq, event.Variant, event.Trial = i+1, "variant", 1
		if event.At == 0 {
			event.At = time.Duration(i+1) * time.Millisecond
		}
		r.Events = append(r.Events, event)
	}
	r.Count = len(r.Events)
	return lab.Saved{Experiment: e, Record: r, Judgement: e.Judge(r)}
}

// views are n page views by two instances, of which only every loss-th adds one.
func views(n int, loss int) (events []history.Event) {
	for i := range n {
		timeline := fmt.Sprintf("instance %d", i%2+1)
		owner := fmt.Sprint("view ", i)
		at := time.Duration(i+1) * 100 * time.Microsecond
		events = append(
			events,
			history.Event{Timeline: timeline, Owner: owner, Key: "pview", Kind: history.Read, Value: int64(i / loss), At: at},
			history.Event{
				Timeline: timeline,
				Owner:    owner,
				Key:      "pview",
				Kind:     history.Write,
				Value:    int64(i/loss + 1),
				At:       at + 40*time.Microsecond,
			},
		)
	}
	return append(events, history.Event{Timeline: "redis", Key: "pview", Kind: history.Final, Value: int64((n-1)/loss + 1)})
}

// failover is a history as a lost lock at failover has it.
func failover() lab.Saved {
	ms := time.Millisecond
	e := func(at time.Duration, timeline string, kind history.Kind, owner string, value int64, text string) history.Event {
		event := history.Event{At: at, Timeline: timeline, Kind: kind, Owner: owner, Key: "lock:counter", Value: value, Text: text}
		switch kind {
		case history.Read, history.Write, history.Final:
			event.Key = "counter"
		case history.Fault:
			event.Proof = "seen to be so"
		}
		if owner == "A1" || owner == "B1" {
			event.Token = 1
		}
		return event
	}
	x := made(history.Counter,
		e(1*ms, "A", history.Request, "A1", 0, ""),
		e(2*ms, "redis-1", history.Fault, "", 0, "replication cut"),
		e(4*ms, "A", history.Grant, "A1", 0, ""),
		e(5*ms, "A", history.Read, "A1", 0, ""),
		e(20*ms, "redis-1", history.Fault, "", 0, "killed"),
		e(25*ms, "redis-2", history.Note, "", 0, "promoted"),
		e(26*ms, "B", history.Request, "B1", 0, ""),
		e(30*ms, "B", history.Grant, "B1", 0, ""),
		e(31*ms, "B", history.Read, "B1", 0, ""),
		e(32*ms, "B", history.Write, "B1", 1, ""),
		e(40*ms, "A", history.Write, "A1", 1, ""),
		e(60*ms, "A", history.Lose, "A1", 0, "no renewal was confirmed"),
		e(62*ms, "B", history.Release, "B1", 0, ""),
		e(63*ms, "B", history.Released, "B1", 0, ""),
		e(90*ms, "redis-1", history.Heal, "", 0, "started again"),
		e(91*ms, "resource", history.Final, "", 1, ""),
	)
	x.Experiment.ID = "X02-failover"
	x.Experiment.Errata = []lab.Erratum{{Article: "A2", What: "An article says that this cannot be."}}
	return x
}

// measuring is a history in which three ways of waiting are measured.
func measuring() lab.Saved {
	var events []history.Event
	at := time.Duration(0)
	for i, way := range []string{"spinning", "sleeping", "subscribed"} {
		for n := range 30 {
			owner := fmt.Sprint(way, n)
			at += time.Millisecond
			event := history.Event{Timeline: way, Owner: owner, Key: "lock", Kind: history.Request, At: at}
			events = append(events, event)
			at += time.Duration((n*7%5+1)*(i%2*3+1)) * time.Millisecond
			event.Kind, event.At = history.Grant, at
			events = append(events, event)
			event.Kind, event.At = history.Release, at+time.Millisecond/2
			events = append(events, event)
		}
		measure := func(of lab.Quantity, value int64) history.Event {
			e := of.Event(way, value)
			e.At = at
			return e
		}
		events = append(events,
			measure(lab.Count.Of("commands per acquisition"), int64(420/(i*i+1))),
			measure(lab.Milliseconds.Of("of waiting, the median"), int64(3+i%2*9)))
	}
	x := made(history.Exclusion, events...)
	x.Experiment.ID = "X03-measures"
	return x
}
