package experiments

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"locklab/history"
)

// balancer is the lane of a request of which no instance has said anything.
const balancer = "balancer"

// ToldNothing is noted of a driver who got an answer that does not say who has the order.
const ToldNothing = "was told nothing"

// viewed is a burst of page views as a history, in the order of time: each request asks when it is sent, and has written
// its value when that is confirmed. The owners are the requests.
func viewed(answers []answer) []history.Event {
	return told(answers, func(i int, a answer) (lane string, what history.Event) {
		what = history.Event{Key: CounterKey, Owner: fmt.Sprintf("request %d", i+1)}
		var view struct {
			Write
			Fence uint64
		}
		if instance, stale := a.stale(); stale {
			what.Kind = history.Stale
			return instance, what
		}
		if err := a.into(&view, http.StatusOK); err != nil {
			what.Kind, what.Text = unheard(a), err.Error()
			return balancer, what
		}
		what.Kind, what.Value, what.Token = history.Write, view.Value, view.Fence
		return view.Instance, what
	})
}

// grabbed is a burst for an order as a history: what each driver asked for, and was told. What the data say is no part
// of it.
func grabbed(answers []answer, order uint64) []history.Event {
	return told(answers, func(i int, a answer) (lane string, what history.Event) {
		lane = driver(uint64(i + 1))
		what = history.Event{Kind: history.Note, Key: orderKey(order), Owner: lane}
		var grab struct {
			Grab
			Fence uint64
		}
		instance, stale := a.stale()
		err := a.into(&grab, http.StatusOK, http.StatusConflict)
		what.Token = grab.Fence
		switch {
		case stale:
			what.Kind, what.Text = history.Stale, "by "+instance
		case err != nil:
			what.Kind, what.Text = unheard(a), err.Error()
		case grab.Won:
			what.Text = fmt.Sprintf("%s: you have it", grab.Instance)
		case grab.Winner != 0:
			what.Text = fmt.Sprintf("%s: %s has it", grab.Instance, driver(grab.Winner))
		default:
			what.Text = ToldNothing
		}
		return lane, what
	})
}

// told makes two events of each answer: the request, and what came of it.
func told(answers []answer, tell func(i int, a answer) (lane string, what history.Event)) (all []history.Event) {
	for i, a := range answers {
		lane, what := tell(i, a)
		what.Timeline, what.At = lane, a.Got
		all = append(all, history.Event{Kind: history.Request, Timeline: lane, Key: what.Key, Owner: what.Owner, At: a.Sent}, what)
	}
	slices.SortStableFunc(all, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// unheard is what a request without a usable answer comes to: it was refused, or, without any answer, nobody knows.
func unheard(a answer) history.Kind {
	if a.Err != nil {
		return history.Note
	}
	return history.Refuse
}

// event is what the data say.
func (w winner) event(order uint64) history.Event {
	return history.Event{
		Kind: history.Win, Timeline: driver(w.Driver), Owner: driver(w.Driver), Key: orderKey(order), Token: w.Fence, Text: "by " + w.Instance,
	}
}

func driver(number uint64) string { return fmt.Sprintf("driver %d", number) }

func orderKey(order uint64) string { return fmt.Sprintf("order:%d", order) }
