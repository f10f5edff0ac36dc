package claims

import (
	"context"
	"fmt"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/history"
)

// views lets 666 page views loose on a version, and records what each wrote and what is left.
func views(s service) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		b, err := s.view(ctx, t)
		if err != nil {
			return err
		}
		record(t, later(t, b.Began, b.Events)...)
		t.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: burst.CounterKey, Value: b.Final})
		for _, m := range []struct {
			value int
			unit  string
		}{
			{b.Lost(), "updates lost"},
			{b.Inside(), "values that one instance wrote twice"},
			{b.Across(), "values that more than one instance wrote"},
			{int(b.Took.Microseconds()), "µs for all of them"},
		} {
			measure(t, s.version, int64(m.value), m.unit)
		}
		return b.Sound(s.size())
	}
}

func (s service) view(ctx context.Context, t *experiments.Trial) (burst.Views, error) {
	target, err := s.start(ctx, t)
	if err != nil {
		return burst.Views{}, err
	}
	return burst.RunViews(ctx, target, s.version, users, s.send())
}

// lostViews is the breach of the page views: a lost update, or one that counts twice.
func lostViews(events []history.Event) []history.Violation {
	found := explained(events, history.Counter(events))
	confirmed, all := 0, true
	for _, e := range events {
		switch {
		case e.Kind == history.Write:
			confirmed++
		case e.Kind == history.Refuse || e.Kind == history.Note:
			all = false // it may have counted
		case e.Kind == history.Final && all && e.Value > int64(confirmed):
			found = append(found, history.Violation{
				What:   fmt.Sprintf("%d updates were confirmed, and %s is %d: some count twice", confirmed, e.Key, e.Value),
				Events: []int{e.Seq},
			})
		}
	}
	return found
}
