package burst

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"locklab/history"
)

// balancer is the timeline of a request that no instance answered.
const balancer = "balancer"

// ToldNothing is noted of a driver whose answer does not say which driver has the order.
const ToldNothing = "was told nothing"

// record adds an answer to b, and returns it as an event: a write when the view is confirmed. The owners are the requests.
func (b *Views) record(i int, a answer) history.Event {
	e := history.Event{Timeline: balancer, Key: CounterKey, Owner: fmt.Sprintf("request %d", i+1)}
	var view struct {
		Write
		Fence uint64
	}
	if instance, stale := a.stale(); stale {
		b.Stale = append(b.Stale, instance)
		e.Timeline, e.Kind = instance, history.Stale
	} else if err := a.into(&view, http.StatusOK); err != nil {
		b.Failed = append(b.Failed, err.Error())
		e.Kind, e.Text = a.failure(), err.Error()
	} else {
		b.Writes = append(b.Writes, view.Write)
		e.Timeline, e.Kind, e.Value, e.Token = view.Instance, history.Write, view.Value, view.Fence
	}
	return e
}

// record adds an answer to b, and returns what the driver was told as an event. What the data say is not part of it.
func (b *Grabs) record(i int, a answer) history.Event {
	name := driver(uint64(i + 1))
	e := history.Event{Timeline: name, Kind: history.Note, Key: orderKey(b.Order), Owner: name}
	var grab struct {
		Grab
		Fence uint64
	}
	if instance, stale := a.stale(); stale {
		b.Stale = append(b.Stale, instance)
		e.Kind, e.Text = history.Stale, "by "+instance
		return e
	}
	if err := a.into(&grab, http.StatusOK, http.StatusConflict); err != nil {
		b.Failed = append(b.Failed, err.Error())
		e.Kind, e.Text = a.failure(), err.Error()
		return e
	}
	b.Answers = append(b.Answers, grab.Grab)
	e.Token, e.Text = grab.Fence, ToldNothing
	if grab.Won {
		e.Text = grab.Instance + ": you have it"
	} else if grab.Winner != 0 {
		e.Text = fmt.Sprintf("%s: %s has it", grab.Instance, driver(grab.Winner))
	}
	return e
}

// eventsOf makes two events of each answer, the request and its result, and sorts all of them by time.
func eventsOf(answers []answer, record func(i int, a answer) history.Event) (all []history.Event) {
	for i, a := range answers {
		result := record(i, a)
		result.At = a.Got
		request := history.Event{Kind: history.Request, Timeline: result.Timeline, Key: result.Key, Owner: result.Owner, At: a.Sent}
		all = append(all, request, result)
	}
	slices.SortStableFunc(all, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// failure is the kind of a request without a usable answer. Without any answer the request may have had its effect.
func (a answer) failure() history.Kind {
	if a.Err != nil {
		return history.Note
	}
	return history.Refuse
}

// event is the winner as the data have it.
func (w winner) event(order uint64) history.Event {
	return history.Event{
		Kind: history.Win, Timeline: driver(w.Driver), Owner: driver(w.Driver), Key: orderKey(order), Token: w.Fence, Text: "by " + w.Instance,
	}
}

func driver(number uint64) string { return fmt.Sprintf("driver %d", number) }

func orderKey(order uint64) string { return fmt.Sprintf("order:%d", order) }
