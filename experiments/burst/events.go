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

// viewEvents are page views as a history: a request when it is sent, and its write when that is confirmed. The owners are
// the requests.
func viewEvents(answers []answer) []history.Event {
	return inTime(answers, func(i int, a answer) (timeline string, result history.Event) {
		result = history.Event{Key: CounterKey, Owner: fmt.Sprintf("request %d", i+1)}
		var view struct {
			Write
			Fence uint64
		}
		if instance, stale := a.stale(); stale {
			result.Kind = history.Stale
			return instance, result
		}
		if err := a.into(&view, http.StatusOK); err != nil {
			result.Kind, result.Text = a.failure(), err.Error()
			return balancer, result
		}
		result.Kind, result.Value, result.Token = history.Write, view.Value, view.Fence
		return view.Instance, result
	})
}

// grabEvents are the grabs of an order as a history: what each driver requested, and was told. What the data say is not
// part of it.
func grabEvents(answers []answer, order uint64) []history.Event {
	return inTime(answers, func(i int, a answer) (timeline string, result history.Event) {
		timeline = driver(uint64(i + 1))
		result = history.Event{Kind: history.Note, Key: orderKey(order), Owner: timeline}
		var grab struct {
			Grab
			Fence uint64
		}
		instance, stale := a.stale()
		err := a.into(&grab, http.StatusOK, http.StatusConflict)
		result.Token = grab.Fence
		switch {
		case stale:
			result.Kind, result.Text = history.Stale, "by "+instance
		case err != nil:
			result.Kind, result.Text = a.failure(), err.Error()
		case grab.Won:
			result.Text = fmt.Sprintf("%s: you have it", grab.Instance)
		case grab.Winner != 0:
			result.Text = fmt.Sprintf("%s: %s has it", grab.Instance, driver(grab.Winner))
		default:
			result.Text = ToldNothing
		}
		return timeline, result
	})
}

// inTime makes two events of each answer, the request and its result, and sorts all of them by time.
func inTime(answers []answer, of func(i int, a answer) (timeline string, result history.Event)) (all []history.Event) {
	for i, a := range answers {
		timeline, result := of(i, a)
		result.Timeline, result.At = timeline, a.Got
		request := history.Event{Kind: history.Request, Timeline: timeline, Key: result.Key, Owner: result.Owner, At: a.Sent}
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
