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
		A holder that is paused past its lease writes after its successor; a resource that checks the fencing token refuses that write.`,
	Says: `
		Renewal keeps the lock while the work goes on. The articles do not ask what happens when the holder itself stops. Then nothing
		renews the lease, and the holder does not know it.`,
	Lesson: experiments.Lesson{
		Question: `
			A client holds the lock. Its process stops for longer than the lease: a long garbage collection, a suspended laptop, a
			paused container. Meanwhile another client works. What happens when the first one continues?`,
		Predict: `
			Renewal is on. Is the write of the paused client (a) refused by the lock, (b) lost, (c) accepted although another client has
			held the lock since?`,
		Why: `
			A stopped process does not renew, so Redis frees the key when the lease ends. B acquires it correctly. When A continues, it
			has already checked its lease and writes immediately. No check inside A can close this gap, because A can stop between the
			check and the write.`,
		Fix: `
			Check the fencing token where the data is. Every grant has a larger token. The resource remembers the largest token that it
			has seen, at a read as well as at a write, and refuses smaller ones. B's read already shuts A out. RedLock has no token, so
			v4 cannot do this.`,
		Limits: `
			A resource that checks the token only at the write has a gap. B reads 0, A writes 1 with its older token and is accepted, B
			writes 1, and one update is lost. The run pauses A at the worst moment on purpose. In production this is rare, and that is
			the problem.`,
		Next: `
			L05 (work longer than the lease), F11 (the holder is cut off instead of paused), L22-token-at-read (the token is checked at
			the write only).`,
		Level: experiments.Medium,
		Start: true,
	},
	Drawing: `
A     ├─ lock, token 1 ─ read 0 ─ looks: good ─ ✗ paused ─────────────── resumed ─ write 1
Redis                              lease over ┆                                       ↑ late
B                                              ├─ lock, token 2 ─ read 0 ─ write 1 ┤`,
	How: `
		A is a process of its own. It has looked at its lease when SIGSTOP stops it. B waits until the server frees the lock, reads and
		writes. A receives the command to write while it is stopped. When SIGCONT lets it run, its work writes without another look:
		every holder has a moment between its last look and its write. Its session notices the end of the lease at the same time, so
		either event may come first. RedLock issues no fencing token. The second RedLock variant gives the resource a token check all
		the same: without a token the check accepts the write.`,
	Anomaly: "pause",
	Takes:   11 * time.Second,
	Check:   kit.Any(history.Counter, history.Late),
	Variants: []experiments.Variant{
		{Name: "no pause", Run: kit.InProcess(kit.Holding{Strategy: lockstrategy.NameRedis}, unpaused)},
		{
			Name: "paused", Expect: experiments.Sometimes, Strategy: "v3", Fault: true,
			Run: kit.InProcess(kit.Holding{Strategy: lockstrategy.NameRedis}, paused),
		},
		{
			Name: "paused, token checked", Strategy: "v3", Anomaly: "pause with fencing token", Fault: true,
			Run: kit.InProcess(kit.Holding{Strategy: lockstrategy.NameRedis, Checks: true}, paused),
		},
		{
			Name: "RedLock, paused", Expect: experiments.Sometimes, Strategy: "v4", Fault: true,
			Run: kit.InProcess(kit.Holding{Strategy: lockstrategy.NameRedLock}, paused),
		},
		{
			Name: "RedLock, paused, no token to check", Expect: experiments.Sometimes,
			Strategy: "v4", Anomaly: "pause with fencing token", Fault: true,
			Run: kit.InProcess(kit.Holding{Strategy: lockstrategy.NameRedLock, Checks: true}, paused),
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
