package anatomy

import (
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/explore/wire"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L25 = Experiments.Add(lab.Experiment{
	ID:       "L25-refused-extends",
	Articles: lab.Articles{"A2"},
	Claim:    "If EXPIRE runs before the answer of SETNX is read, clients that keep asking extend the lock of a dead holder without end.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: time.Second},
	Check:    refusedAfterLease,
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.SETNXThenEXPIRE, Bounds: explore.Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Violation: explore.NonOwnerRenewal},
		{Lock: explore.V3, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.NonOwnerRenewal},
		{
			Lock: articlelock.EXPIREByAll, Bounds: explore.Bounds{Clients: "AB", Deaths: 1},
			Violation: explore.NonOwnerRenewal, Expect: lab.Sometimes,
		},
	},
	Variants: []lab.Variant{
		{Name: "EXPIRE by the winner only", Run: askAfterDeath(articlelock.SETNXThenEXPIRE, 1)},
		{Name: "as printed, B asks once", Run: askAfterDeath(articlelock.EXPIREByAll, passes)},
		{Name: "as printed, B keeps asking", Expect: lab.Sometimes, Run: askAfterDeath(articlelock.EXPIREByAll, 1)},
		{Name: "v3's scripts", Run: askAfterDeath(explore.V3, 1)},
	},
})

const (
	passes   = 7                         // of time
	pass     = clients.LongLease * 2 / 3 // an attempt comes within a lease of the one before it
	lateFrom = 2                         // so many passes are longer than a lease
)

var leaseOver = history.Mark{Name: "one lease has passed since it died"}

// askAfterDeath lets A die as the holder. After each pass of time, beginning with the pass of that number, B tries once.
func askAfterDeath(lock articlelock.Lock, from int) lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		attempt := func(name string) *explore.World {
			return explore.New(lock, wire.Redis{Client: x.Conn}, clients.LongLease, name, x.Record)
		}
		a := attempt("A")
		for range lock.Acquire {
			x.Must(a.Move(ctx, explore.Move{Client: "A"}))
		}
		x.Must(a.Move(ctx, explore.Move{Client: "A", Die: true}))
		for i, refused := 1, true; i <= passes && refused; i++ {
			x.PassTime(ctx, pass)
			if i == lateFrom {
				x.Mark("A", leaseOver)
			}
			if i >= from {
				refused = isRefused(ctx, x, attempt("B"))
			}
		}
		x.Measure("B", int64(len(refusalsAfterDeath(x.Events()))), lab.Count.Of("refusals after the dead holder's lease"))
	})
}

// isRefused lets B do all its steps.
func isRefused(ctx context.Context, x *clients.Redis, attempt *explore.World) bool {
	for b := (explore.Move{Client: "B"}); attempt.Can(b); {
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
		found = append(found, history.Violation{Key: articlelock.Key, What: what, Events: late})
	}
	return found
}
