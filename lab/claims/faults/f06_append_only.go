package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/servers"
)

// appendOnly are the variants of F06 in which Redis writes each command to a file, and restarts with it.
func appendOnly() []lab.Variant {
	on := lab.Variant{Fault: true, Trials: 1, Needs: []lab.Need{lab.RedisServer}}
	quorum, single, everysec := on, on, on
	quorum.Name, quorum.Run = "appendfsync always, restarted immediately", restartVoterWithDisk
	single.Name, single.Run = "one Redis, appendfsync always, restarted immediately", func(ctx context.Context, t *lab.Trial) {
		measureFiles(ctx, t)
		restartWithFile("always")(ctx, t)
	}
	everysec.Name, everysec.Run = "one Redis, appendfsync everysec, its process killed", restartWithFile("everysec")
	return []lab.Variant{quorum, single, everysec}
}

// fileSynced are the settings of a Redis that keeps a file of its commands. fsync says when the file is on the disk: always, before an
// answer; everysec, once a second.
func fileSynced(fsync string) []string {
	return []string{"--appendonly", "yes", "--appendfsync", fsync}
}

func restartVoterWithDisk(ctx context.Context, t *lab.Trial) {
	q := failovers.StartQuorum(ctx, t, 5, fileSynced("always")...)
	q.OnThirdNode(ctx, killWithDisk, 4, 5)
	clients.MustRefuse(t, "B")
}

// restartWithFile restarts the only Redis while A holds the lock.
func restartWithFile(fsync string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		node, err := t.Stack.Redis(ctx, "redis", t.Real, fileSynced(fsync)...)
		t.Must(err)
		besideRestart(ctx, t, func(name string) *clients.Client {
			return clients.RedisLock(t, name, clients.Dial(t, node.Addr), clients.LongLease)
		}, func() {
			if fsync != "always" {
				awaitWritten(ctx, t, node)
			}
			killWithDisk(ctx, t, node)
		})
	}
}

// awaitWritten waits until a node has given all of its file to the operating system, which keeps it when the process is killed. With
// always the answer must be enough.
func awaitWritten(ctx context.Context, t *lab.Trial, n *servers.Node) {
	t.Must(n.Await(ctx, func(ctx context.Context) error {
		unwritten, err := n.Number(ctx, "persistence", "aof_buffer_length")
		if err == nil && unwritten > 0 {
			err = fmt.Errorf("%d bytes are in the memory of the process only", unwritten)
		}
		return err
	}))
}

// killWithDisk kills a node that keeps a file, and starts it again. Only a machine that loses its power may lose what the process has
// written and is not on the disk yet.
func killWithDisk(ctx context.Context, t *lab.Trial, n *servers.Node) {
	proof, err := n.Restartable.Restart(ctx)
	t.Must(err)
	var keys int64
	t.Must(n.Await(ctx, func(ctx context.Context) error { // until it has read its file
		return n.WithClient(func(c *redis.Client) (err error) {
			keys, err = c.DBSize(ctx).Result()
			return err
		})
	}))
	t.Fault(n.Name, "killed and restarted, with its disk", fmt.Sprintf("%s with %d keys", proof, keys))
}

// measureFiles measures a lock and its release with each file and without, in turns: the machine is equally busy for all of them.
func measureFiles(ctx context.Context, t *lab.Trial) {
	const rounds = 101
	var all []*clients.Client
	for _, n := range []struct {
		name     string
		settings []string
	}{{"no file", nil}, {"appendfsync everysec", fileSynced("everysec")}, {"appendfsync always", fileSynced("always")}} {
		node, err := t.Stack.Redis(ctx, n.name, t.Real, n.settings...)
		t.Must(err)
		all = append(all, clients.RedisLock(t, n.name, clients.Dial(t, node.Addr), clients.LongLease))
	}
	took := make([][]time.Duration, len(all))
	for range rounds {
		for i, c := range all {
			began := time.Now()
			lease, err := c.Lock.Acquire(ctx, c.Key)
			t.Must(err)
			t.Must(lease.Release(ctx))
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, c := range all {
		slices.Sort(took[i])
		t.Measure(c.Name, took[i][rounds/2].Microseconds(), lab.Microseconds.Of("to lock and release, the median"))
	}
}
