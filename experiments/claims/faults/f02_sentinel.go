package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/stack"
)

var F02 = experiments.Experiment{
	ID:       "F02-sentinel",
	Articles: experiments.Articles{"A4"},
	Claim: `
		With Sentinel, a master that dies before it has replicated the lock loses it; after two such deaths in a row there are three
		holders.`,
	Says: `
		Sentinel promotes a replica that does not have the lock, and a second client takes it there. If that master fails in the same
		way, a third client takes it.`,
	Lesson: experiments.Lesson{
		Question: `
			Sentinel replaces a dead master without an operator. Twice in a row, the master dies before it has replicated the lock. How
			many clients hold the lock then?`,
		Predict: `
			(a) One: Sentinel promotes a replica that has the lock. (b) One: Sentinel waits until the leases have ended. (c) Three: one
			on each master.`,
		Why: `
			(c). Sentinel chooses a replica and does not look at locks. No replica has the lock, so the promoted one grants it to B. The
			second master dies in the same way, and the third one grants the lock to C. A, B and C each have a lease that has not ended,
			so all of them write. The cause is not the election. It is the master, which answers before it replicates.`,
		Fix: `
			Sentinel makes Redis available again; it does not make the lock safe. Check the fencing token at the resource, or use a
			store that answers only when a majority has the write. WAIT and min-replicas-to-write make the loss rarer.`,
		Limits: `
			The run cuts the replication on purpose, twice within one lease. In production that is rare. A client that follows Sentinel
			learns of the new master and stops sooner than A and B here; how soon is not measured. The time without a grant includes
			the 1.5 s after which Sentinel treats the master as dead. No variant checks the fencing token.`,
		Next: "F01 (a promotion by hand), F03 (a cluster), F04 (WAIT and min-replicas-to-write), G9 (failovers while the resource checks " +
			"the token). With the containers of the compose file: `app lab run F02 --on docker`.",
		Level: experiments.Advanced,
	},
	Drawing: failovers.Drawing,
	How: `
		Every node announces the address of a fault proxy. The proxy drops the replication before A takes the lock. The master is
		killed. Sentinel, which declares a master dead after a second and a half, promotes a replica, and B takes the lock there. After each
		death another client, which follows Sentinel, requests a free key. The run measures the time until the grant. When the
		others follow the new master, the same is done once more, and C takes the lock on the third. Then all of them write, because
		their leases have not ended, as far as they can know. A and B know their dead masters only, so they learn of the new one late. A
		client that reconnects immediately asks the new master for its lock, and stops. In containers there is no proxy: the replicas
		are taken off their network until the master is dead. There Sentinel declares a master dead after two seconds.`,
	Anomaly: "lost at failover",
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Docker: 75 * time.Second,
		Slow:   true,
		Takes:  20 * time.Second,
		Trials: 1, // each variant starts seven servers, and waits for real elections
	},
	Check: threeHolders,
	Variants: failovers.Variants(failovers.Sentinels, clients.LongLease, experiments.Variant{
		Name: "replication cut, lock taken, killed: twice in a row", Run: twiceInARow,
	}),
}

// threeHolders finds lost updates. Where a third client came, it finds a value that three clients wrote.
func threeHolders(trial []history.Event) (found []history.Violation) {
	third := slices.ContainsFunc(trial, func(e history.Event) bool { return e.Kind == history.Request && e.Timeline == "C" })
	if !third {
		return history.Counter(trial)
	}
	wrote := make(map[int64][]int)
	for _, e := range trial {
		if e.Kind != history.Write {
			continue
		}
		if wrote[e.Value] = append(wrote[e.Value], e.Seq); len(wrote[e.Value]) == 3 {
			found = append(found, history.Violation{What: fmt.Sprintf("three holders wrote %d", e.Value), Events: wrote[e.Value]})
		}
	}
	return found
}

func twiceInARow(ctx context.Context, t *experiments.Trial) {
	x, s := failovers.Sentinels(ctx, t), clients.NewSuccession(t)
	x.Probe = x.NewClient(ctx, "probe", 600*time.Millisecond) // it asks the sentinels, and waits a third of that for an answer
	s.Come(ctx, x.BeforeReplication(ctx, "A"))
	x.FailOver(ctx)
	awaitFollowers(ctx, x)
	s.Come(ctx, x.BeforeReplication(ctx, "B"))
	x.FailOver(ctx)
	s.Come(ctx, x.NewClient(ctx, "C", clients.LongLease))
	s.Finish(ctx)
}

// awaitFollowers waits until the other replicas follow the new master and every sentinel knows it: they could replace it now.
func awaitFollowers(ctx context.Context, x *failovers.Replicated) {
	x.Must(x.Servers.AwaitSentinels(ctx, func(ctx context.Context, c *redis.SentinelClient) error {
		known, err := c.Replicas(ctx, stack.SentinelMaster).Result()
		if err != nil {
			return err
		}
		following := 0
		for _, n := range known {
			if n["flags"] == "slave" && n["master-link-status"] == "ok" {
				following++
			}
		}
		if following < len(x.Replicas) {
			return fmt.Errorf("it knows %d replicas that follow the new master, not %d", following, len(x.Replicas))
		}
		return nil
	}))
	x.AwaitReplication(ctx)
}
