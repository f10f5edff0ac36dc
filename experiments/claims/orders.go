package claims

import (
	"context"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/history"
)

// grabs lets 20 drivers grab one order at a version, and records what each was told and who the data say has won.
func grabs(s service) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		target, err := s.start(ctx, t)
		if err != nil {
			return err
		}
		return s.grab(ctx, t, target)
	}
}

// grab is one order.
func (s service) grab(ctx context.Context, t *experiments.Trial, target burst.Target) error {
	b, err := burst.RunGrabs(ctx, target, s.version, drivers, s.send())
	if err != nil {
		return err
	}
	record(t, later(t, b.Began, b.Events)...)
	record(t, b.Wins...)
	return b.Sound(s.size())
}

// twoWinners is the breach of the orders.
func twoWinners(events []history.Event) []history.Violation {
	return explained(events, history.Winners(events))
}
