package anatomy

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var L25 = experiments.Experiment{
	ID:       "L25-refused-extends",
	Title:    "A refused client extends the lease",
	Articles: experiments.Articles{"A2"},
	Claim:    "If EXPIRE runs before the answer of SETNX is read, clients that keep asking extend the lock of a dead holder without end.",
	Says: `
		Case 2 adds the expiry by a second command. A client that is stopped between the two commands locks the key for ever (L02). In the
		listing, EXPIRE stands between SETNX and the look at its answer. The article does not mention what that does.`,
	Errata: []experiments.Erratum{{
		Article: "A2", What: `
		A2's listing of case 2 runs EXPIRE before it looks at the answer of SETNX. So each refused driver extends the holder's lease. If
		drivers keep asking, the lock of a dead holder never ends. Case 3 uses one command and does not have this fault.`,
		Where: "method 1, case 2, lines 26 to 30 of the listing: `stringRedisTemplate.expire(lock.intern(), 30L, TimeUnit.SECONDS)`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A program executes SETNX, then EXPIRE with 30 s, and only then looks at the answer of SETNX. A holder dies. Another client asks
			every 20 s. When does it get the lock?`,
		Predict: `
			(a) When the dead holder's lease ends, after 30 s at most. (b) After 60 s: its first request adds one lease. (c) Never, as long as
			it keeps asking.`,
		Why: `
			(c). EXPIRE does not look at the holder. It sets the expiry whichever client sends it, also one that SETNX has just refused. Each
			attempt of the waiting client gives the dead holder's lock a whole new lease. The lock ends only when nobody has asked for one lease.
			The more clients want the lock, the longer nobody gets it.`,
		Fix: `
			Set the expiry in the command that takes the lock: SET with NX and PX. If it must be two commands, look at the answer first, and send
			EXPIRE only as the winner. A renewal compares the owner in the same script, as v3's does.`,
		Limits: `
			Each attempt is a new client, as a new request of a driver is. Time is not waited for: the keys in Redis lose two thirds
			of a lease before each attempt. The fault also has a good effect. If A dies between SETNX and EXPIRE, the EXPIRE of B sets the
			expiry that A could not set.`,
		Next: "L02-setnx-then-expire has the crash between the two commands. L23-dead-holder measures the wait after a crash with every lock. " +
			"In `app lab step L25` each move takes a second of the lease; `app lab explore L25` finds the shortest interleaving.",
		Level: experiments.Basic,
	},
	Drawing: `
A     SETNX → 1   EXPIRE   †
B                              SETNX → 0   EXPIRE      SETNX → 0   EXPIRE      …  and so as long as it asks
lock  ══ A's lease ════════════════════════╪═ a new one ═══════════╪═ a new one ═══`,
	How: `
		A takes the lock, and dies. Then two thirds of a lease pass, and B tries once: seven times, or until B has had the lock. A refusal of an
		attempt that began after A's lease is a violation. In one variant B lets all that time pass, and asks once at the end.`,
	Schedule: experiments.Schedule{Takes: time.Second},
	Check:    refusedAfterLease,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.SETNXThenEXPIRE, Bounds: steps.Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerRenewal},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerRenewal},
		{
			Lock: naive.EXPIREByAll, Bounds: steps.Bounds{Clients: "AB", Deaths: 1},
			Violation: steps.NonOwnerRenewal, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "EXPIRE by the winner only", Run: askAfterDeath(naive.SETNXThenEXPIRE, 1)},
		{Name: "as printed, B asks once", Run: askAfterDeath(naive.EXPIREByAll, passes)},
		{Name: "as printed, B keeps asking", Expect: experiments.Sometimes, Run: askAfterDeath(naive.EXPIREByAll, 1)},
		{Name: "v3's scripts", Run: askAfterDeath(steps.V3, 1)},
	},
}

const (
	passes   = 7                         // of time
	pass     = clients.LongLease * 2 / 3 // an attempt comes within a lease of the one before it
	lateFrom = 2                         // so many passes are longer than a lease
)

var leaseOver = history.Mark{Name: "one lease has passed since it died"}

// askAfterDeath lets A die as the holder. After each pass of time, beginning with the pass of that number, B tries once.
func askAfterDeath(lock naive.Lock, from int) experiments.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		attempt := func(name string) *steps.World {
			return steps.New(lock, steps.Redis{UniversalClient: x.Conn}, clients.LongLease, name, x.Record)
		}
		a := attempt("A")
		for range lock.Acquire {
			x.Must(a.Move(ctx, steps.Move{Client: "A"}))
		}
		x.Must(a.Move(ctx, steps.Move{Client: "A", Die: true}))
		for i, refused := 1, true; i <= passes && refused; i++ {
			x.PassTime(ctx, pass)
			if i == lateFrom {
				x.Mark("A", leaseOver)
			}
			if i >= from {
				refused = isRefused(ctx, x, attempt("B"))
			}
		}
		x.Measure("B", int64(len(refusalsAfterDeath(x.Events()))), experiments.Count.Of("refusals after the dead holder's lease"))
	})
}

// isRefused lets B do all its steps.
func isRefused(ctx context.Context, x *clients.Redis, attempt *steps.World) bool {
	for b := (steps.Move{Client: "B"}); attempt.Can(b); {
		x.Must(attempt.Move(ctx, b))
	}
	events := x.Events()
	return events[len(events)-1].Kind == history.Refuse
}

// refusalsAfterDeath are the refusals of attempts that began after the lease of the dead holder.
func refusalsAfterDeath(trial []history.Event) (seqs []int) {
	over, late := false, false
	for _, e := range trial {
		switch {
		case leaseOver.In(e):
			over = true
		case e.Kind == history.Request:
			late = over
		case e.Kind == history.Refuse && late:
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

// refusedAfterLease is a check that finds a client that asks and is refused although the lease of the dead holder has ended.
func refusedAfterLease(trial []history.Event) (found []history.Violation) {
	if late := refusalsAfterDeath(trial); len(late) > 0 {
		what := fmt.Sprintf("B was refused %d times after the lease of the dead A had ended", len(late))
		found = append(found, history.Violation{Key: naive.Key, What: what, Events: late})
	}
	return found
}
