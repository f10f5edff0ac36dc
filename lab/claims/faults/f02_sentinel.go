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
	"locklab/lab/history"
	"locklab/lab/servers"
)

var F02 = Experiments.Add(lab.Experiment{
	ID:       "F02-sentinel",
	Articles: lab.Articles{"A4"},
	Claim: `
		With Sentinel, a master that dies before it has replicated the lock loses it; after two such deaths in a row there are three
		holders.`,
	Level:   lab.Advanced,
	Anomaly: "lost at failover",
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Docker: 75 * time.Second,
		Slow:   true,
		Takes:  20 * time.Second,
		Trials: 1, // each variant starts seven servers, and waits for real elections
	},
	Check: threeHolders,
	Variants: failovers.Variants(failovers.Sentinels, clients.LongLease, lab.Variant{
		Name: "replication cut, lock taken, killed: twice in a row", Run: twiceInARow,
	}),
})

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

func twiceInARow(ctx context.Context, t *lab.Trial) {
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
		known, err := c.Replicas(ctx, servers.SentinelMaster).Result()
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
