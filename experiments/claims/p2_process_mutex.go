package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "P2-process-mutex",
	Article: "A4",
	Claim:   "A mutex in the process protects one instance and not two; and beside another instance not even its own values stay apart.",
	Says:    "With synchronized, 666 requests on two instances leave the counter at 391: no value repeats inside one instance, and both write the same values.",
	Erratum: "A4 says that no value repeats inside one process. Beside another process some do: the other sets the counter back to what it read before plus one, and the same values are written again.",
	Drawing: `
instance-1          [ GET → 0  SET 1 ] [ GET → 1  SET 2 ]            [ GET → 1  SET 2 ]   2 again
instance-2   [ GET → 0                                      SET 1 ]`,
	How:     "666 requests at once, at one instance and at two. Then the worst moment on purpose: two clients with a mutex each, as two processes have them, of which one reads and is slow while the other counts twice; what each writes is looked at by itself.",
	Anomaly: lostUpdate,
	Takes:   3 * time.Second,
	Check:   lostViews,
	Variants: []experiments.Variant{
		{Name: "one instance", Run: views(service{version: "v2", instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: views(service{version: "v2"})},
		{Name: "two processes, the values of each", Expect: experiments.Sometimes, Run: setBack},
	},
})

// setBack lets B read, be slow, and set the counter back under A, whose mutex is another. Each has a key in the history,
// so that a value is found only if one of them writes it twice.
func setBack(ctx context.Context, t *experiments.Trial) error {
	var counter int64
	read := func(h *held) int64 {
		t.Record(h.event(history.Event{Kind: history.Read, Key: "counter, by " + h.client.lane, Value: counter}))
		return counter
	}
	write := func(h *held, value int64) {
		counter = value
		t.Record(h.event(history.Event{Kind: history.Write, Key: "counter, by " + h.client.lane, Value: value}))
	}
	a, err := mutexed(t, "A")
	if err != nil {
		return err
	}
	b, err := mutexed(t, "B")
	if err != nil {
		return err
	}
	slow, err := b.acquire(ctx)
	if err != nil {
		return err
	}
	old := read(slow)
	for turn := range 3 {
		if turn == 2 {
			write(slow, old+1)
		}
		h, err := a.acquire(ctx)
		if err != nil {
			return err
		}
		write(h, read(h)+1)
		if err := h.release(ctx); err != nil {
			return err
		}
	}
	return slow.release(ctx)
}

// mutexed is a client whose lock is a mutex in a process of its own.
func mutexed(t *experiments.Trial, lane string) (*client, error) {
	o, err := opened(t, lockstrategy.NameProcess, lockstrategy.Backends{})
	if err != nil {
		return nil, err
	}
	return newClient(t, lane, o.Strategy), nil
}
