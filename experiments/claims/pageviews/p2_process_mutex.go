package pageviews

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/lockstrategy"
)

var P2 = experiments.Experiment{
	ID:       "P2-process-mutex",
	Articles: experiments.Articles{"A4"},
	Claim: `
		A mutex in the process protects one instance and not two: with a second one, an instance even writes its own values twice.`,
	Says: `
		With synchronized, 666 requests on two instances leave the counter at 391. In that run no value repeats inside one instance, and both
		instances write the same values.`,
	Errata: []experiments.Erratum{{
		Article: "A4", What: `
		A4 reports one run, in which no value repeated inside either process. That is no rule. The other process may set the counter back, and
		then the same process writes the same values again.`,
		Where: "after the result of /v2/pview: `Нет дублирования в рамках соответствующих сервисов двух портов`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			Each of two instances has a mutex around the read and the write, so the requests inside one instance wait for each other. 666
			requests arrive simultaneously, half of them at each instance. Is every view counted? Does one instance ever write the same value
			twice?`,
		Predict: `
			(a) All views are counted. (b) Views are lost between the instances, and no instance repeats a value. (c) Views are lost, and one
			instance can repeat a value.`,
		Why: `
			(c). Views are lost, because each process has a mutex of its own, and neither waits for the other's. Both instances read the same number
			and write the same next number. The last variant shows what a lucky run hides. The slow instance writes an old number back, and the
			other instance reads it. From there it writes values that it has written before.`,
		Fix: `
			Put the lock where both processes find it: in Redis, in a database or in another shared service. A mutex in the process is enough
			while exactly one process writes.`,
		Limits: `
			The last variant forces the interleaving, with two clients in one program. How often it happens by itself depends on the load. A
			local mutex is not useless: v3 queues the requests of a process locally, so that only one of them competes in Redis.`,
		Next: "P3-redis-lock takes the lock out of the processes. G2-process-mutex shows the same mutex with an order and its drivers. By " +
			"hand: `app demo --versions v2 --rounds 5`.",
		Level: experiments.Basic,
	},
	Drawing: `
instance-1          [ GET → 0  SET 1 ] [ GET → 1  SET 2 ]            [ GET → 1  SET 2 ]   2 again
instance-2   [ GET → 0                                      SET 1 ]`,
	How: `
		666 simultaneous requests go to one instance and to two. The last variant forces the worst interleaving: two clients have a mutex
		each, as two processes do. B reads and is slow, while A counts twice. Then B writes, and A counts once more. The values of each client
		are checked separately.`,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 3 * time.Second},
	Check:    services.LostViews,
	Variants: []experiments.Variant{
		{Name: "one instance", Run: services.PageViews(services.Service{Version: "v2", Instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: services.PageViews(services.Service{Version: "v2"})},
		{Name: "two processes, the values of each", Expect: experiments.Sometimes, Run: setBack},
	},
}

// setBack lets B read, be slow, and set the counter back under A, whose mutex is another. Each client has a key in the
// history, so that a value is found only if one client writes it twice.
func setBack(ctx context.Context, t *experiments.Trial) {
	var counter int64
	read := func(h *clients.Holder) int64 {
		h.Record(history.Event{Kind: history.Read, Key: "counter, by " + h.Name, Value: counter})
		return counter
	}
	write := func(h *clients.Holder, value int64) {
		counter = value
		h.Record(history.Event{Kind: history.Write, Key: "counter, by " + h.Name, Value: value})
	}
	a := clients.Open(t, "A", lockstrategy.NameProcess, lockstrategy.Backends{})
	b := clients.Open(t, "B", lockstrategy.NameProcess, lockstrategy.Backends{})
	slow := b.Acquire(ctx)
	old := read(slow)
	for n := range 3 {
		if n == 2 {
			write(slow, old+1)
		}
		h := a.Acquire(ctx)
		write(h, read(h)+1)
		h.Release(ctx)
	}
	slow.Release(ctx)
}
