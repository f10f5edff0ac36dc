package topology_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock"
	"locklab/topology"
)

// The sentinel that a client asks hangs, and the other two answer. Commands and locks that need new connections get them.
func TestASentinelThatHangsStopsNobody(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	started := testenv.Topology(t, string(topology.Sentinel))
	r, ctx := open(t, config(started)), testenv.Context(t)
	lock, err := redislock.New(r.Master, lockstrategy.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	testenv.Pause(t, subscribedAt(t, started))
	const pairs = 32
	answers := make(chan error, 2*pairs)
	for i := range pairs {
		go func() {
			_, err := r.Master.BLPop(ctx, 50*time.Millisecond, "empty").Result() // it occupies its connection
			if errors.Is(err, redis.Nil) {
				err = nil
			}
			answers <- err
		}()
		go func() {
			lease, err := lock.Acquire(ctx, fmt.Sprintf("lock:%d", i))
			if err == nil {
				err = lease.Release(ctx)
			}
			answers <- err
		}()
	}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// All sentinels hang. A command that needs a new connection was not sent, and its error says so.
func TestWithoutSentinelsNothingIsSent(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	started := testenv.Topology(t, string(topology.Sentinel))
	r, ctx := open(t, config(started)), testenv.Context(t)
	for _, sentinel := range started.Sentinels {
		testenv.Pause(t, sentinel)
	}
	for name, client := range map[string]redis.UniversalClient{"master": r.Master, "replica": r.Replica()} {
		const commands = 3 // one has a connection
		answers := make(chan error, commands)
		for range commands {
			go func() { answers <- client.BLPop(replies.SendOnce(ctx), 100*time.Millisecond, "empty").Err() }()
		}
		failed := 0
		for range commands {
			if err := <-answers; !errors.Is(err, redis.Nil) {
				failed++
				if replies.MayHaveRun(err) {
					t.Errorf("the %s: %v, which says that it may have been executed", name, err)
				}
			}
		}
		if failed == 0 {
			t.Errorf("the %s: no command needed a new connection", name)
		}
	}
}

// A server hangs. A command on an open connection may be executed when it goes on. One that needs a new connection was not sent, and its
// error says so.
func TestOnlyWhatWasSentMayHaveBeenExecuted(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, kind := range []topology.Kind{topology.Single, topology.MasterSlave, topology.Cluster} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(kind))
			if kind == topology.Cluster {
				each(t, started, "CONFIG", "SET", "cluster-node-timeout", "3600000") // no replica replaces it
			}
			r, ctx := open(t, config(started)), testenv.Context(t)
			if err := r.Master.Set(ctx, "key", 0, 0).Err(); err != nil {
				t.Fatal(err)
			}
			master := masterOf(t, started, r)
			testenv.Pause(t, master)
			const commands = 3
			answers := make(chan error, commands)
			for range commands {
				go func() { answers <- r.Master.Incr(replies.SendOnce(ctx), "key").Err() }()
			}
			mayHaveRun := int64(0)
			for range commands {
				err := <-answers
				if err == nil {
					t.Error("a server that hangs has answered")
				}
				if replies.MayHaveRun(err) {
					mayHaveRun++
				}
			}
			master.Resume()
			if executed := r.Master.Get(ctx, "key").Val(); executed != fmt.Sprint(mayHaveRun) {
				t.Errorf("%d commands may have been executed, by their errors, and %s were", mayHaveRun, executed)
			}
		})
	}
}

// subscribedAt is the sentinel that a client listens to.
func subscribedAt(t *testing.T, started *servers.Topology) (found *servers.Node) {
	t.Helper()
	testenv.Eventually(t, "a client is subscribed at a sentinel", func() bool {
		for _, sentinel := range started.Sentinels {
			_ = sentinel.WithClient(func(c *redis.Client) error {
				list, err := c.ClientList(context.Background()).Result()
				if strings.Contains(list, " cmd=subscribe ") {
					found = sentinel
				}
				return err
			})
		}
		return found != nil
	})
	return found
}
