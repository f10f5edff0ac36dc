package experiments

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"locklab/history"
)

// OrderBurst is the record of drivers who want the same order at the same moment (A2).
type OrderBurst struct {
	Version  string
	Drivers  int
	Order    uint64
	Answers  []Grab
	Stale    []string // the instance of each driver who was refused as a stale holder: it did not win
	Failed   []string // what went wrong with each other request that has no Grab; it may have won
	Recorded []uint64 // the drivers for whom the data say that they won
	Took     time.Duration

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

// winner is a driver of whom the data say that they won.
type winner struct {
	Driver   uint64
	Instance string
	Fence    uint64
}

// RunOrder makes an order behind target, lets drivers grab it at once at version, and reads who the
// data say has won it. An error means that there is no record.
func RunOrder(ctx context.Context, target Target, version string, drivers int) (OrderBurst, error) {
	return runOrder(ctx, target, version, drivers, burst)
}

// RunOrderInTurn is [RunOrder] with one driver at a time.
func RunOrderInTurn(ctx context.Context, target Target, version string, drivers int) (OrderBurst, error) {
	return runOrder(ctx, target, version, drivers, inTurn)
}

func runOrder(ctx context.Context, target Target, version string, drivers int, how send) (OrderBurst, error) {
	record := OrderBurst{Version: version, Drivers: drivers}
	var made struct{ ID uint64 }
	if err := target.call(ctx, http.MethodPost, "/orders", "", &made); err != nil {
		return record, err
	}
	record.Order = made.ID
	requests := make([]*http.Request, drivers)
	for i := range requests {
		requests[i] = target.request(http.MethodPost, fmt.Sprintf("/%s/orders/%d/grab?driver=%d", version, made.ID, i+1))
	}
	answers, began, err := how(ctx, target.URL, requests)
	if err != nil {
		return record, err
	}
	record.Took, record.Began, record.Events = took(answers), began, grabbed(answers, made.ID)
	record.sort(answers)
	var now struct{ Winners []winner }
	err = patiently(ctx, target, fmt.Sprintf("/orders/%d", made.ID), &now)
	for _, w := range now.Winners {
		record.Recorded = append(record.Recorded, w.Driver)
		record.Wins = append(record.Wins, w.event(made.ID))
	}
	return record, err
}

// sort files each answer where it belongs.
func (b *OrderBurst) sort(answers []answer) {
	for _, a := range answers {
		var grab Grab
		if instance, stale := a.stale(); stale {
			b.Stale = append(b.Stale, instance)
		} else if err := a.into(&grab, http.StatusOK, http.StatusConflict); err != nil {
			b.Failed = append(b.Failed, err.Error())
		} else {
			b.Answers = append(b.Answers, grab)
		}
	}
}

// Winners is how many drivers the data say have won.
func (b OrderBurst) Winners() int { return len(b.Recorded) }

// PerInstance counts the usable answers of each instance: drivers who were told, and refused.
func (b OrderBurst) PerInstance() map[string]int {
	n := count(b.Stale)
	for _, g := range b.Answers {
		n[g.Instance]++
	}
	return n
}

// Outcome is what the record shows: a breach when more than one driver won. That nobody won, or
// that the answers and the data disagree, proves nothing about locks.
func (b OrderBurst) Outcome() Outcome {
	o := Outcome{Trials: 1, Err: b.Sound(2)}
	if b.Winners() > 1 {
		o.Violations = 1
	}
	return o
}

// Sound says why the record proves nothing about so many instances.
func (b OrderBurst) Sound(instances int) error {
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
		return fmt.Errorf("nobody won order %d", b.Order)
	case told != b.Winners():
		return fmt.Errorf("%d drivers were told that they won order %d, and %d are recorded", told, b.Order, b.Winners())
	}
	return even(b.PerInstance(), b.Drivers, instances)
}
