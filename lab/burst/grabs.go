package burst

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/history"
)

// Grabs is the record of drivers who request the same order (A2).
type Grabs struct {
	Version  string
	Drivers  int
	Order    uint64
	Answers  []Grab
	Stale    []string // the instance of each driver who was refused as a stale holder: it did not win
	Locked   []string `json:",omitempty"` // the instance of each driver who did not wait for the lock and was told that it is held
	Failed   []string // the error of each other request that has no Grab; it may have won
	Recorded []uint64 // the drivers who have won, as the data say
	Took     time.Duration

	ByChance bool `json:",omitempty"` // as in the Target

	Began  time.Time       `json:"-"`
	Events []history.Event `json:"-"` // each request, with the times since Began
	Wins   []history.Event `json:"-"` // of each driver who is recorded
}

// Grab is what one driver was told.
type Grab struct {
	Instance string
	Driver   uint64
	Won      bool
	Winner   uint64
}

type winner struct {
	Driver   uint64
	Instance string
	Fence    uint64
}

// RunGrabs makes an order behind target, lets each of drivers grab it at version, and reads which drivers have won. A driver waits for the
// lock as ?wait= says, or with an empty wait as long as the instances allow. An error means that there is no record.
func RunGrabs(ctx context.Context, target Target, version string, drivers int, wait string, send Send) (Grabs, error) {
	b := Grabs{Version: version, Drivers: drivers, ByChance: target.ByChance}
	var made struct{ ID uint64 }
	if err := target.call(ctx, http.MethodPost, "/orders", "", &made); err != nil {
		return b, err
	}
	b.Order = made.ID
	answers, began, err := send(ctx, target.URL, target.requests(drivers, func(i int) string {
		path := fmt.Sprintf("/%s/orders/%d/grab?driver=%d", version, made.ID, i+1)
		if wait != "" {
			path += "&wait=" + wait
		}
		return path
	}))
	if err != nil {
		return b, err
	}
	b.Took, b.Began, b.Events = took(answers), began, eventsOf(answers, b.record)
	var now struct{ Winners []winner }
	err = target.read(ctx, fmt.Sprintf("/orders/%d", made.ID), readTimeout, &now)
	for _, w := range now.Winners {
		b.Recorded = append(b.Recorded, w.Driver)
		b.Wins = append(b.Wins, w.event(made.ID))
	}
	return b, err
}

// Winners is how many drivers have won, as the data say.
func (b Grabs) Winners() int { return len(b.Recorded) }

// PerInstance counts the usable answers of each instance: drivers who were told, and refused.
func (b Grabs) PerInstance() map[string]int {
	n := count(slices.Concat(b.Stale, b.Locked))
	for _, g := range b.Answers {
		n[g.Instance]++
	}
	return n
}

// Outcome is what the record of two instances shows.
func (b Grabs) Outcome() lab.Outcome { return b.OutcomeOf(2) }

// OutcomeOf is what the record of so many instances shows: a violation when more than one driver won. An order without a winner,
// or answers that contradict the data, prove nothing about locks.
func (b Grabs) OutcomeOf(instances int) lab.Outcome {
	o := lab.Outcome{Trials: 1, Err: b.Sound(instances)}
	if b.Winners() > 1 {
		o.Violations = 1
	}
	return o
}

// Sound says why the record proves nothing about so many instances.
func (b Grabs) Sound(instances int) error {
	told := 0
	for _, g := range b.Answers {
		if g.Won {
			told++
		}
	}
	switch {
	case len(b.Failed) > 0:
		return failures(b.Failed)
	case b.Winners() == 0:
		return fmt.Errorf("order %d has no winner", b.Order)
	case told != b.Winners():
		return fmt.Errorf("%d drivers were told that they won order %d, and %d are recorded", told, b.Order, b.Winners())
	}
	return even(b.PerInstance(), b.Drivers, instances, b.ByChance)
}

// ToldNothing is noted of a driver whose answer does not say which driver has the order.
var ToldNothing = history.Mark{Name: "was told nothing"}

// record adds an answer to b, and returns what the driver was told as an event. The data have their own events.
func (b *Grabs) record(i int, a answer) history.Event {
	name := driver(uint64(i + 1))
	e := history.Event{Timeline: name, Kind: history.Note, Key: orderKey(b.Order), Owner: name}
	var grab struct {
		Grab
		Fence uint64
	}
	if instance, stale := a.stale(); stale {
		b.Stale = append(b.Stale, instance)
		e.Kind, e.Name, e.Text = history.Stale, history.RefusedAll, "by "+instance
		return e
	}
	if a.Status == http.StatusLocked {
		instance, by := a.locked()
		b.Locked = append(b.Locked, instance)
		if by == "" {
			return ToldNothing.On(e)
		}
		e.Kind, e.Text = history.Refuse, fmt.Sprintf("%s: locked by %s", instance, by)
		return e
	}
	if err := a.into(&grab, http.StatusOK, http.StatusConflict); err != nil {
		b.Failed = append(b.Failed, err.Error())
		e.Kind, e.Text = a.failure(), err.Error()
		return e
	}
	b.Answers = append(b.Answers, grab.Grab)
	e.Token = grab.Fence
	switch {
	case grab.Won:
		e.Text = grab.Instance + ": you have it"
	case grab.Winner != 0:
		e.Text = fmt.Sprintf("%s: %s has it", grab.Instance, driver(grab.Winner))
	default:
		e = ToldNothing.On(e)
	}
	return e
}

func (w winner) event(order uint64) history.Event {
	return history.Event{
		Kind: history.Win, Timeline: driver(w.Driver), Owner: driver(w.Driver), Key: orderKey(order), Token: w.Fence,
		Name: w.Instance, Text: "by " + w.Instance,
	}
}

func driver(number uint64) string { return fmt.Sprintf("driver %d", number) }

func orderKey(order uint64) string { return fmt.Sprintf("order:%d", order) }
