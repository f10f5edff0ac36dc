package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/worker"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "L11-pause-past-lease",
	Article: "A0, A2",
	Claim:   "A holder that is paused past its lease writes after its successor; a checked fence stops that write.",
	Says:    "Renewal keeps the lock while the work goes on. The articles do not ask what happens when the holder does not run: then nothing renews either, and it does not know.",
	Drawing: `
A     ├─ lock, fence 1 ─ read 0 ─ looks: good ─ ✗ paused ─────────────── resumed ─ write 1
Redis                              lease over ┆                                       ↑ late
B                                              ├─ lock, fence 2 ─ read 0 ─ write 1 ┤`,
	How:     "A is a process of its own. It has looked at its lease when SIGSTOP stops it; B waits until the server frees the lock, and writes. A is told to write while it is stopped, and does so when SIGCONT lets it run, without another look: every holder has a moment between its last look and its write. Then it learns that its time is over. RedLock issues no fence, so there is nothing to check.",
	Anomaly: "pause",
	Takes:   11 * time.Second,
	Check: func(events []history.Event) []history.Violation {
		return append(history.Counter(events), history.Late(events)...)
	},
	Variants: []experiments.Variant{
		{Name: "no pause", Run: holds(lockstrategy.NameRedis, false, 0, unpaused)},
		{Name: "paused", Expect: experiments.Sometimes, Strategy: "v3", Fault: true, Run: holds(lockstrategy.NameRedis, false, 0, paused)},
		{Name: "paused, fence checked", Strategy: "v3", Anomaly: "pause with fence", Fault: true, Run: holds(lockstrategy.NameRedis, true, 0, paused)},
		{Name: "RedLock, paused", Expect: experiments.Sometimes, Strategy: "v4", Fault: true, Run: holds(lockstrategy.NameRedLock, false, 0, paused)},
		{Name: "RedLock, paused, and no fence to check", Expect: experiments.Sometimes, Strategy: "v4", Anomaly: "pause with fence", Fault: true, Run: holds(lockstrategy.NameRedLock, true, 0, paused)},
	},
})

func unpaused(ctx context.Context, x *remote, r *resource, a *held) error {
	if err := x.writes(ctx, r, a, r.read(a)+1); err != nil {
		return err
	}
	if err := x.release(ctx); err != nil {
		return err
	}
	return last(ctx, r, x.b)
}

func paused(ctx context.Context, x *remote, r *resource, a *held) error {
	value := r.read(a)
	if err := x.looks(ctx); err != nil {
		return err
	}
	if err := x.a.Pause(); err != nil {
		return err
	}
	if err := last(ctx, r, x.b); err != nil { // when A's lease is over
		return err
	}
	if err := x.a.Tell(worker.Order{Do: worker.Write, Value: value + 1}); err != nil {
		return err
	}
	x.a.Resume()
	told, err := x.a.WaitAll(ctx, string(worker.Write), string(history.Lose))
	if wrote, ok := told[string(worker.Write)]; ok {
		r.write(a, wrote.Value)
	}
	return err
}
