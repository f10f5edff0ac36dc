package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:       "F02-sentinel",
	Article:  "A4",
	Claim:    "With Sentinel, a master that fails before it has replicated the lock loses it; twice in a row there are three holders.",
	Says:     "Sentinel promotes a replica that has not got the lock, and a second client takes it there. If that master fails in the same way, a third one does.",
	Drawing:  failoverDrawing,
	How:      "Every node announces the address of a link of ours. The link is cut for the replicas before the lock is taken, the master is killed, and Sentinel (which misses a master after a second and a half) promotes a replica; B takes the lock there. The same is done once more when the others follow the new master, and C takes the lock on the third. Then they write, each under a lease that is good as far as it can know: A and B know their dead masters only, so that they hear of the new one late. One that reconnects at once asks the new master for its lock, and stops. In containers there is no link: the replicas are taken off their network until the master is dead, and Sentinel misses a master after two seconds.",
	Anomaly:  "lost at failover",
	Needs:    []experiments.Need{experiments.RedisServer},
	Docker:   true,
	Slow:     true,
	Takes:    20 * time.Second,
	Trials:   1, // each arm starts seven servers, and waits for real elections
	Check:    threeHolders,
	Variants: failoverArms(watched, longLease, experiments.Variant{Name: "link cut, lock taken, killed: twice in a row", Run: twiceInARow}),
})

// threeHolders is an update that is lost; where a third client came, it is one that three have written.
func threeHolders(events []history.Event) (found []history.Violation) {
	third := slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.Request && e.Timeline == "C" })
	if !third {
		return history.Counter(events)
	}
	wrote := make(map[int64][]int)
	for _, e := range events {
		if e.Kind != history.Write {
			continue
		}
		if wrote[e.Value] = append(wrote[e.Value], e.Seq); len(wrote[e.Value]) == 3 {
			found = append(found, history.Violation{What: fmt.Sprintf("three holders wrote %d", e.Value), Events: wrote[e.Value]})
		}
	}
	return found
}

func twiceInARow(ctx context.Context, t *experiments.Trial) error {
	x, err := watched(ctx, t)
	if err != nil {
		return err
	}
	return contest(ctx, t, x.cutOff("A"),
		func(ctx context.Context) (*client, error) {
			if err := x.fails(ctx); err != nil {
				return nil, err
			}
			if err := x.follow(ctx); err != nil {
				return nil, err
			}
			return x.cutOff("B")(ctx)
		},
		x.afterFailure("C"),
	)
}

// watched is a master with three replicas and three sentinels.
func watched(ctx context.Context, t *experiments.Trial) (*replicated, error) {
	servers, err := t.Stack.ProxiedTopology(ctx, "sentinel", t.Real)
	if err != nil {
		return nil, err
	}
	return &replicated{t: t, servers: servers, master: servers.Nodes[0], replicas: servers.Nodes[1:], replace: electedBySentinel}, nil
}

// electedBySentinel waits until every sentinel names the same new master, and that node agrees.
func electedBySentinel(ctx context.Context, x *replicated) error {
	old := x.master
	for _, sentinel := range x.servers.Sentinels {
		err := askSentinel(ctx, sentinel, func(ctx context.Context, c *redis.SentinelClient) error {
			at, err := c.GetMasterAddrByName(ctx, stack.SentinelMaster).Result()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(x.replicas, func(n *stack.Node) bool { return n.AnnouncedAddr() == at[0]+":"+at[1] })
			if i < 0 {
				return fmt.Errorf("it names %v", at)
			}
			x.master = x.replicas[i]
			return hasRole(ctx, x.master, "master")
		})
		if err != nil {
			return err
		}
	}
	if x.master == old {
		return errors.New("no sentinel was asked")
	}
	return nil
}

// follow waits until the other replicas follow the new master and a sentinel knows it: they could replace it now.
func (x *replicated) follow(ctx context.Context) error {
	for _, sentinel := range x.servers.Sentinels {
		err := askSentinel(ctx, sentinel, func(ctx context.Context, c *redis.SentinelClient) error {
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
			if following < len(x.replicas) {
				return fmt.Errorf("it knows %d replicas that follow the new master, not %d", following, len(x.replicas))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return x.inStep(ctx)
}

// askSentinel asks until the answer is as it should be.
func askSentinel(ctx context.Context, n *stack.Node, question func(context.Context, *redis.SentinelClient) error) error {
	c := redis.NewSentinelClient(&redis.Options{Addr: n.Addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, ContextTimeoutEnabled: true})
	defer c.Close()
	return n.Await(ctx, func(ctx context.Context) error { return question(ctx, c) })
}
