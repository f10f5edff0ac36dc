package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/worker"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "L11-pause-past-lease",
	Article: "A0, A2",
	Claim: `
		A holder that is paused past its lease writes after its successor; a checked fencing token stops that write.`,
	Says: `
		Renewal keeps the lock while the work goes on. The articles do not ask what happens when the holder itself stops: then nothing renews
		either, and the holder does not know it.`,
	Drawing: `
A     ├─ lock, token 1 ─ read 0 ─ looks: good ─ ✗ paused ─────────────── resumed ─ write 1
Redis                              lease over ┆                                       ↑ late
B                                              ├─ lock, token 2 ─ read 0 ─ write 1 ┤`,
	How: `
		A is a process of its own. It has looked at its lease when SIGSTOP stops it. B waits until the server frees the lock, and writes. A
		receives the command to write while it is stopped. It writes when SIGCONT lets it run, without another look: every holder has a moment
		between its last look and its write. Then it learns that its lease ended. RedLock issues no fencing token, so there is nothing to check.`,
	Anomaly: "pause",
	Takes:   11 * time.Second,
	Check:   kit.Any(history.Counter, history.Late),
	Variants: []experiments.Variant{
		{Name: "no pause", Run: kit.InProcess(lockstrategy.NameRedis, false, 0, unpaused)},
		{
			Name: "paused", Expect: experiments.Sometimes, Strategy: "v3", Fault: true,
			Run: kit.InProcess(lockstrategy.NameRedis, false, 0, paused),
		},
		{
			Name: "paused, token checked", Strategy: "v3", Anomaly: "pause with fencing token", Fault: true,
			Run: kit.InProcess(lockstrategy.NameRedis, true, 0, paused),
		},
		{
			Name: "RedLock, paused", Expect: experiments.Sometimes, Strategy: "v4", Fault: true,
			Run: kit.InProcess(lockstrategy.NameRedLock, false, 0, paused),
		},
		{
			Name: "RedLock, paused, no token to check", Expect: experiments.Sometimes,
			Strategy: "v4", Anomaly: "pause with fencing token", Fault: true,
			Run: kit.InProcess(lockstrategy.NameRedLock, true, 0, paused),
		},
	},
})

func unpaused(ctx context.Context, x *kit.HolderProcess) {
	x.Write(ctx, x.Resource.Read(x.Holder)+1)
	x.Release(ctx)
	x.B.Update(ctx, x.Resource)
}

func paused(ctx context.Context, x *kit.HolderProcess) {
	value := x.Resource.Read(x.Holder)
	x.Look(ctx)
	x.A.Pause()
	x.B.Update(ctx, x.Resource) // when A's lease is over
	x.A.Send(worker.Command{Do: worker.Write, Value: value + 1})
	x.A.Resume()
	x.Resource.Write(x.Holder, x.A.Wait(ctx, history.Write).Value)
	x.A.Wait(ctx, history.Lose)
}
