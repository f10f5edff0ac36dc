package stores

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

var M01 = experiments.Experiment{
	ID:       "M01-memcached",
	Articles: experiments.Articles{"A0"},
	Claim: `
		A lock in Memcached is lost by eviction, by a restart and by a stalled server, and a late delete frees another client's lock.`,
	Level:    experiments.Medium,
	Anomaly:  "eviction",
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Memcached}, Slow: true, Takes: 50 * time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(steps.OrphanedLock.Mark()), clients.Noted(steps.LeftUntilExpiry.Mark())),
	Variants: slices.Concat([]experiments.Variant{
		{Name: "memory for all", Run: lockedWhile(ownLock, writeItems)},
		{Name: "memory full", Expect: experiments.Sometimes, Strategy: "v8", Fault: true, Run: lockedWhile(ownLock, evict, "-m", "2")},
		{
			Name: "restarted", Expect: experiments.Sometimes, Strategy: "v8", Anomaly: "restart with data loss", Fault: true,
			Run: lockedWhile(ownLock, restartMemcached),
		},
		{
			Name: "stalled", Expect: experiments.Sometimes, Trials: 1, Strategy: "v8", Anomaly: "clock jump", Fault: true,
			Run: stalledMemcached(ownLock),
		},
		{Name: "1 s as v8 counts it", Trials: 1, Run: aSecond(ownLock)},
		{
			Name: "1 s taken for a lease of 1 s", Expect: experiments.Sometimes,
			Run: aSecond(func(x *cacheServer, name string) *clients.Client { return addLock(x, name, 1, time.Second, byCas) }),
		},
		{Name: "cas by a late owner", Trials: 1, Run: lateOwner(byCas)},
	}, addAndDeleteMeets()),
}

// addAndDeleteMeets are the anomalies of the matrix, with the lock by add and delete.
func addAndDeleteMeets() (all []experiments.Variant) {
	for _, v := range []struct {
		name, anomaly string
		fault         bool
		expect        experiments.Expect
		run           experiments.Scenario
	}{
		{"memory for all", "lost update over instances", false, experiments.Never, lockedWhile(addAndDelete, writeItems)},
		{"memory full", "eviction", true, experiments.Sometimes, lockedWhile(addAndDelete, evict, "-m", "2")},
		{"restarted", "restart with data loss", true, experiments.Sometimes, lockedWhile(addAndDelete, restartMemcached)},
		{"late owner", "unlock by a non-owner", false, experiments.Sometimes, lateOwner(byDelete)},
		{"owner dead", "orphaned lock", false, experiments.Never, deadOwner},
		{"work longer than the item", "lease expired during work", false, experiments.Sometimes, lockedWhile(addForASecond, itemEnds)},
		{"stalled", "clock jump", true, experiments.Sometimes, stalledMemcached(addForThree)},
		{"reply to add lost", "acquire with lost reply", true, experiments.Sometimes, lostReplyToAdd},
	} {
		all = append(all, experiments.Variant{
			Name: v.name + ": add, delete", Strategy: "Memcached add, delete", Anomaly: v.anomaly, Fault: v.fault, Expect: v.expect,
			Trials: 1, Run: v.run,
		})
	}
	return all
}

// lockOf is a client of a lock in Memcached.
type lockOf func(x *cacheServer, name string) *clients.Client

func ownLock(x *cacheServer, name string) *clients.Client {
	return x.NewClient(name, clients.LongLease)
}

func addAndDelete(x *cacheServer, name string) *clients.Client {
	return addLock(x, name, 3600, 0, byDelete)
}

// addForThree is that lock with an item of 3 s: a stall is longer, and the server's tick of a second is not.
func addForThree(x *cacheServer, name string) *clients.Client {
	return addLock(x, name, 3, 0, byDelete)
}

// addForASecond is that lock with an item of 1 s. Its owner does not look at the time.
func addForASecond(x *cacheServer, name string) *clients.Client {
	return addLock(x, name, 1, 0, byDelete)
}

func itemEnds(ctx context.Context, x *cacheServer) { x.Must(x.AwaitFree(ctx)) }

// deadOwner lets A die while it holds the lock. B waits for much longer than the item lives.
func deadOwner(ctx context.Context, t *experiments.Trial) {
	x := startCacheServer(ctx, t)
	addForASecond(x, "A").Acquire(ctx).Record(history.Event{Kind: history.Die})
	mustBeFree(ctx, x, steps.OrphanedLock, lockstrategy.WaitAtMost(10*time.Second))
}

// lostReplyToAdd closes A's connection instead of the reply to its add. Nobody knows then that A holds the lock.
func lostReplyToAdd(ctx context.Context, t *experiments.Trial) {
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
	mustBeFree(ctx, x, steps.LeftUntilExpiry, lockstrategy.TryOnce())
}

// mustBeFree lets B request a lock that nobody holds.
func mustBeFree(ctx context.Context, x *cacheServer, otherwise steps.Violation, wait lockstrategy.Option) {
	b, err := addAndDelete(x, "B").TryAcquire(ctx, wait)
	if errors.Is(err, lockstrategy.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
		x.Record(otherwise.Mark().On(history.Event{Timeline: "memcached", Kind: history.Left, Key: clients.LockKey}))
		return
	}
	x.Must(err)
	b.Release(ctx)
}

// lockedWhile lets A hold the lock while something happens to the server. Then B requests it.
func lockedWhile(client lockOf, happens func(context.Context, *cacheServer), settings ...string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x, s := startCacheServer(ctx, t, settings...), clients.NewSuccession(t)
		s.Come(ctx, client(x, "A"))
		happens(ctx, x)
		s.Come(ctx, client(x, "B"))
		s.Finish(ctx)
	}
}

// itemSize is about that of a lock's value: the server keeps items of other sizes elsewhere.
const itemSize = 40

// writeItems writes many items beside the lock.
func writeItems(ctx context.Context, x *cacheServer) {
	full, err := x.Server.Fill(ctx, itemSize, func(ctx context.Context) (bool, error) {
		stats, err := x.Server.Stats(ctx)
		return len(stats["curr_items"]) > len("9999"), err
	})
	x.Must(err)
	x.Note("memcached", fmt.Sprintf("has over 10000 items, and has evicted %d", full.Evicted))
}

// evict writes items until the server has evicted as many as it has. The lock was used before all of them.
func evict(ctx context.Context, x *cacheServer) {
	full, err := x.Server.Fill(ctx, itemSize, func(ctx context.Context) (bool, error) {
		stats, err := x.Server.Stats(ctx)
		evicted, items := stats["evictions"], stats["curr_items"]
		return len(evicted) > len(items) || len(evicted) == len(items) && evicted > items, err
	})
	x.Must(err)
	x.Must(x.AwaitFree(ctx))
	x.Fault("memcached", "its memory is full", fmt.Sprintf("it has evicted %d items, the lock among them", full.Evicted))
}

func restartMemcached(ctx context.Context, x *cacheServer) {
	proof, err := x.Server.Restart(ctx)
	x.Must(err)
	x.Fault("memcached", "restarted empty", proof)
}

// stalledMemcached stops the server. A's request arrives just before the server goes on, and the item gets an expiry of before the stall.
// When the server's clock ticks before that, the item lives on: then A tries again.
func stalledMemcached(client lockOf) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x, r := startCacheServer(ctx, t), clients.NewResource(t, false)
		resuming := *x
		resuming.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return resumer{c, x.Server}, err
		}
		lock := client(&resuming, "A")
		var a *clients.Holder
		for range 8 {
			proof := stall(ctx, x)
			a = lock.Acquire(ctx, lockstrategy.LeaseFor(time.Second))
			if forgotten(ctx, x) {
				t.Fault("memcached", "stalled", proof)
				break
			}
			a.Release(ctx)
		}
		value := r.Read(a)
		client(x, "B").Update(ctx, r)
		writeIfHeld(ctx, r, a, value)
	}
}

// stall stops the server for longer than an item of a second is kept. The next add lets it go on.
func stall(ctx context.Context, x *cacheServer) (proof string) {
	const long = 3100 * time.Millisecond // v8 asks for an item of 3 s
	_, err := x.Server.Stats(ctx)        // it answers
	x.Must(err)
	x.Must(x.Server.Pause())
	select {
	case <-time.After(long):
	case <-ctx.Done():
		x.Must(ctx.Err())
	}
	return fmt.Sprintf("process %d was stopped for %s", x.Server.PID(), long)
}

// forgotten reports whether the server has no lock a moment after it was granted.
func forgotten(ctx context.Context, x *cacheServer) bool {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	return x.AwaitFree(ctx) == nil
}

// resumer lets the server go on when an add is on its way to it.
type resumer struct {
	net.Conn
	server *stack.Memcached
}

func (c resumer) Write(request []byte) (int, error) {
	n, err := c.Conn.Write(request)
	if strings.HasPrefix(string(request), "add ") {
		c.server.Resume()
	}
	return n, err
}

// writeIfHeld writes for a holder that has read value, unless its lease's context has ended.
func writeIfHeld(ctx context.Context, r *clients.Resource, h *clients.Holder, value int64) {
	if h.Alive() {
		r.Write(h, value+1)
	}
	_ = h.TryRelease(ctx) // its item may be gone
}

// aSecond lets A take the lock for a second, while B waits for it. When the server's clock ticks before A has the lock, the item lives
// on: then A tries again.
func aSecond(client lockOf) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x, r := startCacheServer(ctx, t), clients.NewResource(t, false)
		lock := client(x, "A")
		var a *clients.Holder
		for range 8 {
			second := lateInASecond(ctx, x)
			a = lock.Acquire(ctx, lockstrategy.LeaseFor(time.Second))
			if uptime(ctx, x) == second {
				break
			}
			a.Release(ctx)
		}
		value := r.Read(a)
		client(x, "B").Update(ctx, r)
		writeIfHeld(ctx, r, a, value)
	}
}

// lateInASecond waits until the server's clock is about to tick, and returns the second that it shows.
func lateInASecond(ctx context.Context, x *cacheServer) (second string) {
	before := uptime(ctx, x)
	x.Must(stack.Until(ctx, func(context.Context) error {
		if second = uptime(ctx, x); second == before {
			return errors.New("the clock has not ticked")
		}
		return nil
	}))
	select {
	case <-time.After(700 * time.Millisecond):
	case <-ctx.Done():
	}
	return second
}

// uptime is how many seconds the server has counted.
func uptime(ctx context.Context, x *cacheServer) string {
	stats, err := x.Server.Stats(ctx)
	x.Must(err)
	return stats["uptime"]
}

// lateOwner lets A release after its item has expired, and B has the lock.
func lateOwner(release releaseItem) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x, s := startCacheServer(ctx, t), clients.NewSuccession(t)
		a := addLock(x, "A", 1, 0, release).Acquire(ctx)
		t.Must(x.AwaitFree(ctx))
		s.Come(ctx, addLock(x, "B", 60, 0, release))
		_ = a.TryRelease(ctx)
		s.Come(ctx, addLock(x, "C", 60, 0, release))
		s.Finish(ctx)
	}
}

// releaseItem frees a lock, and reports whether it was there.
type releaseItem func(conn *memcache.Client, key, owner string) (bool, error)

// longestWait bounds the wait for an answer: a busy machine may be late by more than memcache's half a second.
const longestWait = 20 * time.Second

// addLock is a client of a lock that is taken by add. lease is how long its holder relies on it; 0: it does not look at the time.
func addLock(x *cacheServer, name string, seconds int32, lease time.Duration, release releaseItem) *clients.Client {
	conn, owner := x.Connect(), fmt.Sprintf("%*s", itemSize, name)
	conn.Timeout = longestWait
	return clients.NewPolling(x.Trial, name, clients.Polling{
		Pause: 10 * time.Millisecond, Lease: lease,
		Try: func(_ context.Context, key string) (bool, error) {
			err := conn.Add(&memcache.Item{Key: key, Value: []byte(owner), Expiration: seconds})
			if errors.Is(err, memcache.ErrNotStored) {
				return false, nil
			}
			return err == nil, err
		},
		Release: func(_ context.Context, key string) (bool, error) {
			released, err := release(conn, key, owner)
			if errors.Is(err, memcache.ErrCacheMiss) || errors.Is(err, memcache.ErrCASConflict) {
				err = nil
			}
			return released, err
		},
	})
}

func byDelete(conn *memcache.Client, key, _ string) (bool, error) {
	err := conn.Delete(key)
	return err == nil, err
}

func byCas(conn *memcache.Client, key, owner string) (bool, error) {
	item, err := conn.Get(key)
	if err != nil || string(item.Value) != owner {
		return false, err
	}
	item.Expiration = -1
	err = conn.CompareAndSwap(item)
	return err == nil, err
}
