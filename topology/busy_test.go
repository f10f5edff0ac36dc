package topology_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock"
	"locklab/topology"
)

// A script of another program runs for long, and the server refuses everything else (BUSY). A command and an acquire wait for its end, and
// a release is repeated until then. Nothing is executed twice.
func TestABusyServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, kind := range []topology.Kind{topology.Single, topology.Cluster} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(kind))
			r, ctx := open(t, config(started)), testenv.Context(t)
			lock, err := redislock.New(r.Master, lockstrategy.Timing{Expiry: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			lease, err := lock.Acquire(ctx, "held:{key}")
			if err != nil {
				t.Fatal(err)
			}
			end := keepBusy(t, masterOf(t, started, r))
			refused := refusals{make(chan string, 1000)}
			r.Master.AddHook(refused)
			answers := make(chan error, 2)
			go func() { answers <- r.Master.Incr(ctx, "{key}").Err() }()
			refused.wait(t, "incr")
			go func() {
				lease, err := lock.Acquire(ctx, "free:{key}")
				if err == nil {
					err = lease.Release(ctx)
				}
				answers <- err
			}()
			refused.wait(t, "evalsha")
			if err := lease.Release(ctx); err != nil && !errors.Is(err, lockstrategy.ErrUnavailable) {
				t.Errorf("the release: %v", err)
			}
			end()
			for range cap(answers) {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
			if n := r.Master.Get(ctx, "{key}").Val(); n != "1" {
				t.Errorf("one command was executed %s times", n)
			}
			testenv.Eventually(t, "the lock is released", func() bool { return r.Master.Exists(ctx, "held:{key}").Val() == 0 })
		})
	}
}

// keepBusy begins a script that does not end by itself. end ends it.
func keepBusy(t *testing.T, node *servers.Node) (end func()) {
	t.Helper()
	ctx := testenv.Context(t)
	do := func(command ...any) error {
		return node.WithClient(func(c *redis.Client) error { return c.Do(ctx, command...).Err() })
	}
	if err := node.Configure(ctx, "lua-time-limit", 1); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = do("EVAL", "while true do end", 0)
	}()
	testenv.Eventually(t, "the server is busy", func() bool { return redis.HasErrorPrefix(do("GET", "key"), "BUSY ") })
	return func() {
		if err := do("SCRIPT", "KILL"); err != nil {
			t.Error(err)
		}
		<-ended
	}
}

// refusals has the names of the commands that a server refuses.
type refusals struct{ names chan string }

func (r refusals) wait(t *testing.T, name string) {
	t.Helper()
	for {
		select {
		case refused := <-r.names:
			if refused == name {
				return
			}
		case <-testenv.Context(t).Done():
			t.Fatalf("no %s was refused", name)
		}
	}
}

// DialHook implements [redis.Hook].
func (refusals) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (r refusals) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if redis.HasErrorPrefix(err, "BUSY ") {
			r.names <- strings.ToLower(cmd.Name())
		}
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (refusals) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
