package stores

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

var M01 = Experiments.Add(lab.Experiment{
	ID:       "M01-memcached",
	Articles: lab.Articles{"A0"},
	Claim:    "A lock in Memcached is lost by eviction, by a restart, and by a server that stalls.",
	Level:    lab.Medium,
	Anomaly:  "eviction",
	Schedule: lab.Schedule{Needs: []lab.Need{lab.Memcached}, Slow: true, Takes: 30 * time.Second},
	Check:    history.Counter,
	Variants: []lab.Variant{
		{Name: "memory for all", Run: lockedWhile(ownLock, writeItems)},
		{Name: "memory full", Expect: lab.Sometimes, Strategy: "v8", Fault: true, Run: lockedWhile(ownLock, evict, "-m", "2")},
		{
			Name: "restarted", Expect: lab.Sometimes, Strategy: "v8", Anomaly: "restart with data loss", Fault: true,
			Run: lockedWhile(ownLock, restartMemcached),
		},
		{
			Name: "stalled", Expect: lab.Sometimes, Trials: 1, Strategy: "v8", Anomaly: "clock jump", Fault: true,
			Run: stalledMemcached(ownLock),
		},
		{
			Name: "memory for all: add, delete", Trials: 1, Strategy: addDelete, Anomaly: "lost update over instances",
			Run: lockedWhile(addAndDelete, writeItems),
		},
		{
			Name: "memory full: add, delete", Expect: lab.Sometimes, Trials: 1, Strategy: addDelete, Fault: true,
			Run: lockedWhile(addAndDelete, evict, "-m", "2"),
		},
		{
			Name: "restarted: add, delete", Expect: lab.Sometimes, Trials: 1, Strategy: addDelete, Anomaly: "restart with data loss",
			Fault: true, Run: lockedWhile(addAndDelete, restartMemcached),
		},
		{
			Name: "stalled: add, delete", Expect: lab.Sometimes, Trials: 1, Strategy: addDelete, Anomaly: "clock jump", Fault: true,
			Run: stalledMemcached(addForThree),
		},
	},
})

// addForThree is that lock with an item of 3 s: a stall is longer, and the server's tick of a second is not.
func addForThree(x *cacheServer, name string) *clients.Client {
	return addLock(x, name, 3, 0, byDelete)
}

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
func stalledMemcached(client lockOf) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := startCacheServer(ctx, t)
		resuming := *x
		resuming.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return resumer{c, x.Server}, err
		}
		lock := client(&resuming, "A")
		besideB(ctx, x, client(x, "B"), func() (a *clients.LocalHolder, early bool) {
			proof := stall(ctx, x)
			a = lock.Acquire(ctx, lockstrategy.LeaseFor(time.Second))
			if early = forgotten(ctx, x); early {
				t.Fault("memcached", "stalled", proof)
			}
			return a, early
		})
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
	server *servers.Memcached
}

func (c resumer) Write(request []byte) (int, error) {
	n, err := c.Conn.Write(request)
	if strings.HasPrefix(string(request), "add ") {
		c.server.Resume()
	}
	return n, err
}
