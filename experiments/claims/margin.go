package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/history"
	"locklab/stack"
)

// marginText names what margin measures.
const marginText = "µs for which the server keeps the key after its holder has stopped to rely on it, at least; negative: at most"

// margin compares until when a holder relies on its lease with until when the server keeps the key. The server says for how many whole
// milliseconds it will, at a moment between question and answer: so there is an earliest end and a latest, and of several answers the
// fastest says most. Where the holder's lies between the two, nothing is shown.
func margin(ctx context.Context, h *held, n *stack.Node) error {
	until := h.lease.Until()
	earliest, latest, err := ends(ctx, n)
	if err != nil {
		return err
	}
	kept := earliest
	switch {
	case until.After(latest):
		kept = latest
	case until.After(earliest):
		return fmt.Errorf("the holder's end lies in the %s in which the server frees the key: its answers were too slow to tell", latest.Sub(earliest))
	}
	h.client.t.Record(h.event(history.Event{Kind: history.Measure, Value: kept.Sub(until).Microseconds(), Text: marginText}))
	return nil
}

// ends is when a server frees the lock: between these two.
func ends(ctx context.Context, n *stack.Node) (earliest, latest time.Time, err error) {
	const answers = 20
	err = n.WithClient(func(c *redis.Client) error {
		for range answers {
			asked := time.Now()
			left, err := c.PTTL(ctx, lockKey).Result()
			if err != nil {
				return err
			}
			if left <= 0 {
				break
			}
			if from := asked.Add(left - time.Millisecond); from.After(earliest) {
				earliest = from
			}
			if to := time.Now().Add(left); latest.IsZero() || to.Before(latest) {
				latest = to
			}
		}
		if earliest.IsZero() {
			return errors.New("the lock was gone before it was looked at: nothing is measured")
		}
		return nil
	})
	return earliest, latest, err
}

// tooLong finds holders that rely on a lease for longer than the server keeps the key.
func tooLong(events []history.Event) (found []history.Violation) {
	for _, e := range events {
		if e.Kind == history.Measure && e.Text == marginText && e.Value < 0 {
			found = append(found, history.Violation{What: fmt.Sprintf("%s relies on its lease for %d µs after the server has freed the key", e.Timeline, -e.Value), Events: []int{e.Seq}})
		}
	}
	return found
}
