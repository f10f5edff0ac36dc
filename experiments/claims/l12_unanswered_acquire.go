package claims

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L12-unanswered-acquire",
	Article: "A0, A1, A2, A3",
	Claim:   "An acquire whose answer is lost leaves the key locked unless it is undone; to undo it by DEL deletes the lock of whoever has it.",
	Says:    "The articles know two answers to an acquire, yes and no. A third is none: the server has taken the lock for a client that does not believe to have it and never gives it back.",
	Drawing: `
A  SET NX PX ─▶ (the server: OK)  ✗ answer lost   "I have not got it"
B                                                   SET NX PX → refused, and nobody has the lock
A                                                   undo: compare, DEL → 1
B                                                                             SET NX PX → OK`,
	How:     "The answer has arrived and is thrown away with its connection; at that moment the server is asked whether the lock is there. Then B tries: at once, or with v3 for a third of the lease. Where the undo is a DEL, it is B's answer that is lost while A works.",
	Anomaly: "unanswered acquire",
	Takes:   3 * time.Second,
	Check:   leftBehind,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "AB", Lost: 1}, Violation: steps.Left, Expect: experiments.Sometimes},
		{Lock: naive.SETNX, Bounds: steps.Bounds{Clients: "AB", Lost: 1}, Violation: steps.Orphaned, Expect: experiments.Sometimes},
		{Lock: naive.UndoneByScript, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: steps.Left},
		{Lock: naive.UndoneByScript, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: steps.Foreign},
		{Lock: naive.UndoneByDEL, Bounds: steps.Bounds{Clients: "AB", Lost: 1}, Violation: steps.Foreign, Expect: experiments.Sometimes},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: steps.Left},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: steps.Foreign},
	},
	Variants: []experiments.Variant{
		{Name: "answered", Run: unanswered(naive.Compare, "A A A A B B B B")},
		{Name: "lost: SETNX", Expect: experiments.Sometimes, Strategy: "naive SETNX", Fault: true, Run: unanswered(naive.SETNX, "A? B B B B")},
		{Name: "lost: SET NX PX", Expect: experiments.Sometimes, Strategy: "SET NX PX", Fault: true, Run: unanswered(naive.Compare, "A? B B B B")},
		{Name: "lost, undone by script", Fault: true, Run: unanswered(naive.UndoneByScript, "A? A B B B B")},
		{Name: "lost, undone by DEL", Expect: experiments.Sometimes, Fault: true, Run: unanswered(naive.UndoneByDEL, "A A B? B C C A C A C")},
		{Name: "lost: v3", Strategy: "v3", Fault: true, Run: unansweredV3},
	},
})

// leftBehind finds locks that nobody has, with or without an expiry, and updates that are lost.
func leftBehind(trial []history.Event) []history.Violation {
	return append(append(history.Counter(trial), orphaned(trial)...), led(trial, history.Noted(trial, steps.Behind))...)
}

// unanswered moves the clients of a lock over a wire that can lose an answer.
func unanswered(lock naive.Lock, order string) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		server, err := newLoser(ctx, t, naive.Key)
		if err != nil {
			return err
		}
		return walkOn(ctx, t, server, lock, order)
	}
}

// unansweredV3 loses the answer to an acquire of v3, which undoes it by itself: B, which waits for less than the lease, gets in.
func unansweredV3(ctx context.Context, t *experiments.Trial) error {
	wire, err := newLoser(ctx, t, "lock:counter")
	if err != nil {
		return err
	}
	one, err := v3(t, wire.UniversalClient, longLease)
	if err != nil {
		return err
	}
	two, err := v3(t, wire.admin, longLease)
	if err != nil {
		return err
	}
	r := newResource(t, false)
	defer r.final()
	a, b := newClient(t, "A", one.Strategy), newClient(t, "B", two.Strategy)
	h, err := a.acquire(ctx) // so the server knows the script: the next answer is the one to the acquire
	if err != nil {
		return err
	}
	r.add(h)
	if err := h.release(ctx); err != nil {
		return err
	}
	wire.LoseAnswer()
	if _, err := a.acquire(ctx); !errors.Is(err, lockstrategy.ErrUnavailable) {
		return errors.Join(errors.New("the answer to A was to be lost"), err)
	}
	next, err := b.acquire(ctx, lockstrategy.WaitAtMost(longLease/3))
	if err != nil {
		return errors.Join(err, wire.leftBehind(ctx))
	}
	r.add(next)
	return next.release(ctx)
}
