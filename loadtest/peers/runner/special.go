package runner

import (
	"context"
	"time"

	"locklab/loadtest/peers/stats"
	"locklab/loadtest/peers/wire"
)

// waiting is how long after its order a worker is certain to wait: the hand-over begins then.
const waiting = 2 * time.Millisecond

// handOver lets two workers take turns: one holds, the other waits, the first gives back. What is measured
// lasts from the beginning of the release in one process to the grant in the other.
func (t *trial) handOver(ctx context.Context) error {
	limit := t.workload.Limit
	a, b := t.children[0], t.children[1]
	if _, err := a.ask(wire.Order{Do: "take"}, limit); err != nil {
		return err
	}
	var took []float64
	began := time.Now()
	for len(took) < t.workload.Count && time.Since(began) < t.workload.Lasts {
		if err := b.tell(wire.Order{Do: "take"}); err != nil {
			return err
		}
		time.Sleep(waiting)
		released, err := a.ask(wire.Order{Do: "give"}, limit)
		if err != nil {
			return err
		}
		granted, err := b.answer(limit)
		if err != nil {
			return err
		}
		took = append(took, float64(granted.At-released.At)/1e3)
		a, b = b, a
	}
	r := t.record
	r.Done, r.Seconds = len(took), time.Since(began).Seconds()
	r.WaitP50, r.WaitP99, r.WaitMax = stats.Quantile(took, 0.5), stats.Quantile(took, 0.99), stats.Quantile(took, 1)
	err := t.count(ctx, r.Done, false)
	_, _ = a.ask(wire.Order{Do: "give"}, limit)
	return err
}

// weigh has one worker hold the lock while the waiters of all come; then they are served.
func (t *trial) weigh(ctx context.Context) error {
	holder := t.children[0]
	if _, err := holder.ask(wire.Order{Do: "take"}, t.workload.Limit); err != nil {
		return err
	}
	if err := t.all(wire.Order{Do: "go", At: time.Now().UnixMicro()}); err != nil {
		return err
	}
	weighed, err := t.answers(t.workload.Limit + slack)
	if err != nil {
		return err
	}
	for _, a := range weighed {
		t.record.PerWaiter += float64(a.Bytes-a.Before) / float64(t.workload.Waiters)
	}
	if _, err := holder.ask(wire.Order{Do: "give"}, t.workload.Limit); err != nil {
		return err
	}
	if err := t.all(wire.Order{Do: "collect"}); err != nil {
		return err
	}
	answers, err := t.answers(t.workload.Limit + slack)
	if err != nil {
		return err
	}
	return t.sum(ctx, answers)
}
