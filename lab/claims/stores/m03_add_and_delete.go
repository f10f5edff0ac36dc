package stores

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy"
)

var M03 = Experiments.Add(lab.Experiment{
	ID:       "M03-add-and-delete",
	Articles: lab.Articles{"A0"},
	Claim:    "A lock by add and delete survives the death of its owner; a late delete frees another client's lock, and cas does not.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.Memcached}, Slow: true, Takes: 10 * time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(explore.OrphanedLock.Mark()), clients.Noted(explore.LeftUntilExpiry.Mark())),
	Variants: []lab.Variant{
		{Name: "late owner: add, cas", Trials: 1, Run: lateOwner(byCas)},
		{
			Name: "late owner: add, delete", Strategy: addDelete, Anomaly: "unlock by a non-owner", Expect: lab.Sometimes, Trials: 1,
			Run: lateOwner(byDelete),
		},
		{Name: "owner dead: add, delete", Strategy: addDelete, Anomaly: "orphaned lock", Trials: 1, Run: deadOwner},
		{
			Name: "work longer than the item: add, delete", Strategy: addDelete, Anomaly: clients.FixedLease,
			Expect: lab.Sometimes, Trials: 1, Run: lockedWhile(addForASecond, itemEnds),
		},
		{
			Name: "reply to add lost: add, delete", Strategy: addDelete, Anomaly: "acquire with lost reply", Fault: true,
			Expect: lab.Sometimes, Trials: 1, Run: lostReplyToAdd,
		},
	},
})

// lateOwner lets A release after its item has expired, and B has the lock.
func lateOwner(release releaseItem) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, s := startCacheServer(ctx, t), clients.NewSuccession(t)
		a := addLock(x, "A", 1, 0, release).Acquire(ctx)
		t.Must(x.AwaitFree(ctx))
		s.Come(ctx, addLock(x, "B", 60, 0, release))
		_ = a.TryRelease(ctx)
		s.Come(ctx, addLock(x, "C", 60, 0, release))
		s.Finish(ctx)
	}
}

// deadOwner lets A die while it holds the lock. B waits for much longer than the item lives.
func deadOwner(ctx context.Context, t *lab.Trial) {
	x := startCacheServer(ctx, t)
	addForASecond(x, "A").Acquire(ctx).Record(history.Event{Kind: history.Die})
	mustBeFree(ctx, x, explore.OrphanedLock, lockstrategy.WaitAtMost(10*time.Second))
}

// lostReplyToAdd closes A's connection instead of the reply to its add. Nobody knows then that A holds the lock.
func lostReplyToAdd(ctx context.Context, t *lab.Trial) {
	x := startCacheServer(ctx, t)
	wire, err := t.Stack.Proxy("wire", x.Server.Addr)
	t.Must(err)
	lost := make(chan string, 1)
	wire.LoseReply(nil, func(reply faultproxy.Chunk) { lost <- string(reply.Data) })
	near := *x
	near.Dial = wire.DialContext
	if _, err := addAndDelete(&near, "A").TryAcquire(ctx); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Must(errors.Join(errors.New("the reply to A was to be lost"), err))
	}
	t.Fault(wire.Name, "the reply is lost", fmt.Sprintf("the server had answered %q", <-lost))
	mustBeFree(ctx, x, explore.LeftUntilExpiry, lockstrategy.TryOnce())
}

// mustBeFree lets B request a lock that nobody holds.
func mustBeFree(ctx context.Context, x *cacheServer, otherwise explore.Violation, wait lockstrategy.Option) {
	b, err := addAndDelete(x, "B").TryAcquire(ctx, wait)
	if errors.Is(err, lockstrategy.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
		x.Record(otherwise.Mark().On(history.Event{Timeline: "memcached", Kind: history.Left, Key: clients.LockKey}))
		return
	}
	x.Must(err)
	b.Release(ctx)
}

func itemEnds(ctx context.Context, x *cacheServer) { x.Must(x.AwaitFree(ctx)) }
