package anatomy

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
	"locklab/lockstrategy/articlelock"
)

var L13 = Experiments.Add(lab.Experiment{
	ID:       "L13-eviction",
	Articles: lab.Articles{"A4"},
	Claim:    "A full Redis with an evicting memory policy deletes the lock's key while a client holds the lock.",
	Level:    lab.Medium,
	Anomaly:  "eviction",
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Takes:  11 * time.Second,
		Trials: 1, // each fills a server until the lock is gone
	},
	Check: history.Counter,
	Variants: slices.Concat([]lab.Variant{
		{Name: "noeviction", Fault: true, Run: clients.OnSingle(full("noeviction", clients.LockKey))},
		{
			Name: "allkeys-lru", Expect: lab.Sometimes, Strategy: "v3", Fault: true,
			Run: clients.OnSingle(full("allkeys-lru", clients.LockKey)),
		},
		{
			Name: "volatile-lru", Expect: lab.Sometimes, Strategy: "v3", Fault: true,
			Run: clients.OnSingle(full("volatile-lru", clients.LockKey)),
		},
	}, clients.NaiveVariants("allkeys-lru", clients.LostAfter(full("allkeys-lru", articlelock.Key))), []lab.Variant{{
		Name: "RedLock, allkeys-lru on the deciding node", Expect: lab.Sometimes, Strategy: "v4", Fault: true, Trials: 1,
		Run: failovers.OnDecidingNode(full("allkeys-lru", clients.NodeKey)),
	}}),
})

// full fills a node's memory until the lock is gone or nothing more is taken, and frees memory again.
func full(policy, key string) clients.Fault {
	return func(ctx context.Context, t *lab.Trial, n *servers.Node) {
		gone := func(ctx context.Context) (gone bool, err error) {
			return gone, n.WithClient(func(c *redis.Client) error {
				there, err := c.Exists(ctx, key).Result()
				gone = there == 0
				return err
			})
		}
		full, err := t.Stack.Fill(ctx, n, policy, gone)
		t.Must(err)
		var proof string // without one of both the memory was not full
		switch {
		case full.Refused != nil:
			proof = fmt.Sprintf("evicted_keys:%d; it answers: %v", full.Evicted, full.Refused)
		case full.Evicted > 0:
			proof = fmt.Sprintf("evicted_keys:%d", full.Evicted)
		}
		t.Fault(n.Name, "its memory is full, with the policy "+policy, proof)
		t.Must(t.Stack.Unfill(ctx, n))
		t.Heal(n.Name, "has free memory again")
	}
}
