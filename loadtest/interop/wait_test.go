package interop_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/lockstrategy"
)

// soon is when a waiter must have been notified. With a lost message it would sleep for the rest of the lease, which has
// just been granted. The lease of both sides is 30 s.
const soon = lockstrategy.DefaultLease / 3

// seen: to Java our lock is a lock like its own, and so is its lock to us.
func (b *bench) seen(ctx context.Context, t *testing.T) {
	key, java := b.key(t), b.theirs[0]
	lock := func(verb string, words ...string) string {
		t.Helper()
		return java.must(ctx, t, "look", append([]string{verb, b.kind, key}, words...)...)
	}
	lease := b.acquire(ctx, t, key)
	if lock("isLocked") != "true" || lock("tryLock", "0", "-1") != "false" {
		t.Error("Java does not see our lock")
	}
	left, err := strconv.Atoi(lock("remaining"))
	if whole := int(lockstrategy.DefaultLease.Milliseconds()); err != nil || left <= 0 || left > whole {
		t.Errorf("Java sees %d ms of our lease (%v), which has at most %d", left, err, whole)
	}
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if lock("isLocked") != "false" || lock("tryLock", "0", "-1") != "true" {
		t.Error("Java does not see that we have released")
	}
	if lock("tryLock", "0", "-1") != "true" || lock("holdCount") != "2" {
		t.Error("Java's thread does not enter its own lock again")
	}
	b.refuses(ctx, t, key)
	lock("unlock")
	b.refuses(ctx, t, key) // it has entered twice
	lock("unlock")
	if err := b.acquire(ctx, t, key).Release(ctx); err != nil {
		t.Error(err)
	}
}

// side is a client that holds the lock or waits for it.
type side struct {
	name    string
	lock    func(ctx context.Context, key string) error
	release func(ctx context.Context, key string) error
}

// java is a side in a JVM: the thread called thread.
func (b *bench) java(jvm *peer, thread string) side {
	tell := func(verb string) func(context.Context, string) error {
		return func(ctx context.Context, key string) error {
			_, err := jvm.do(ctx, thread, verb, b.kind, key)
			return err
		}
	}
	return side{jvm.name, tell("lock"), tell("unlock")}
}

// we are the side in this process.
func (b *bench) we() side {
	var lease *lockstrategy.Lease
	return side{
		"go",
		func(ctx context.Context, key string) (err error) {
			lease, err = b.locks.Acquire(ctx, key)
			return err
		},
		func(ctx context.Context, _ string) error { return lease.Release(ctx) },
	}
}

// waits: the release of a holder notifies a waiter, whichever of the two is Java.
func (b *bench) waits(ctx context.Context, t *testing.T) {
	for _, pair := range [][2]side{
		{b.we(), b.java(b.theirs[0], "waiter")},
		{b.java(b.theirs[0], "holder"), b.we()},
		{b.java(b.theirs[0], "holder"), b.java(b.theirs[1], "waiter")}, // Redisson alone: what fails here is not our lock's fault
	} {
		holder, waiter := pair[0], pair[1]
		t.Run(holder.name+" notifies "+waiter.name, func(t *testing.T) {
			// Redisson names the channel of a key with a hash tag otherwise than that of a key without.
			for _, key := range []string{b.key(t), strings.Trim(b.key(t), "{}")} {
				if err := holder.lock(ctx, key); err != nil {
					t.Fatal(err)
				}
				granted := b.waiting(ctx, t, waiter, key)
				if err := holder.release(ctx, key); err != nil {
					t.Fatal(err)
				}
				within(t, granted)
				if err := waiter.release(ctx, key); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// receivesOthers: before 3.22, and where sharded Pub/Sub is switched off, Redisson's messages in a cluster go to all nodes. Ours go to one
// shard, so its waiter does not receive them, and sleeps for the rest of the lease that it was shown. It wakes up when a message of its own
// kind is sent.
func (b *bench) receivesOthers(ctx context.Context, t *testing.T) {
	key, waiter := b.key(t), b.java(b.theirs[0], "waiter")
	lease := b.acquire(ctx, t, key)
	granted := b.waiting(ctx, t, waiter, key)
	channel := "redisson_lock__channel:" + key
	cluster := b.redis.Master.(*redis.ClusterClient)
	if sharded, err := cluster.SPublish(ctx, channel, "0").Result(); err != nil || sharded != 0 {
		t.Errorf("%d clients listen to sharded messages (%v): this version can run all cases", sharded, err)
	}
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Publish(ctx, channel, "0").Err(); err != nil {
		t.Fatal(err)
	}
	within(t, granted)
	if err := waiter.release(ctx, key); err != nil {
		t.Fatal(err)
	}
}

// waiting lets waiter wait for key, and returns when it sleeps until a notification; the channel says how the wait
// ended. Java and we do the same: try, listen, and try again, because a release may have come in between. So a waiter
// that was refused twice sleeps.
func (b *bench) waiting(ctx context.Context, t *testing.T, waiter side, key string) <-chan error {
	t.Helper()
	before := b.refusals(ctx, t)
	granted := make(chan error, 1)
	go func() { granted <- waiter.lock(ctx, key) }()
	testenv.Eventually(t, waiter.name+" has been refused twice", func() bool {
		select {
		case err := <-granted:
			t.Fatalf("%s did not wait (%v)", waiter.name, err)
		default:
		}
		return b.refusals(ctx, t) >= before+2
	})
	return granted
}

// within fails the test when the wait did not end well soon.
func within(t *testing.T, granted <-chan error) {
	t.Helper()
	late := time.NewTimer(soon)
	defer late.Stop()
	select {
	case err := <-granted:
		if err != nil {
			t.Fatal(err)
		}
	case <-late.C:
		t.Fatalf("not notified within %s: the waiter sleeps until the lease's end", soon)
	}
}

// refusals counts, on all servers, how often a client was told how long another's lease lasts. Redisson's script and ours
// call PTTL for that, and for nothing else.
func (b *bench) refusals(ctx context.Context, t *testing.T) int64 {
	t.Helper()
	return b.sum(ctx, t, func(server *redis.Client) (calls int64, err error) {
		stats, err := server.Info(ctx, "commandstats").Result()
		if _, after, found := strings.Cut(stats, "cmdstat_pttl:calls="); found {
			_, err = fmt.Sscanf(after, "%d,", &calls)
		}
		return calls, err
	})
}

// sum asks every server and adds up what they say. A replica knows of what it is told only, which is
// neither a refusal nor a listener.
func (b *bench) sum(ctx context.Context, t *testing.T, ask func(server *redis.Client) (int64, error)) int64 {
	t.Helper()
	var all atomic.Int64
	add := func(_ context.Context, server *redis.Client) error {
		n, err := ask(server)
		all.Add(n)
		return err
	}
	var err error
	if cluster, ok := b.redis.Master.(*redis.ClusterClient); ok {
		err = cluster.ForEachShard(ctx, add)
	} else {
		err = add(ctx, b.redis.Master.(*redis.Client))
	}
	if err != nil {
		t.Fatal(err)
	}
	return all.Load()
}

func (b *bench) acquire(ctx context.Context, t *testing.T, key string) *lockstrategy.Lease {
	t.Helper()
	lease, err := b.locks.Acquire(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// refuses checks that the key is another's.
func (b *bench) refuses(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	if _, err := b.locks.Acquire(ctx, key, lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
		t.Errorf("we ask for a lock that Java holds: got %v, want ErrTaken", err)
	}
}
