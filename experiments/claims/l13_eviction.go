package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "L13-eviction",
	Article: "A0, A1, A2, A3, A4",
	Claim:   "Under an evicting memory policy the lock's key disappears while a client holds the lock.",
	Says: `
		The articles keep locks beside data and say nothing of the server's memory. A Redis that is configured as a cache evicts keys when it is
		full. A lock is a key, and with a policy for keys that expire, locks are evicted first.`,
	Drawing: `
A      ├─ lock ─ read 0 ───────────────────────────── write 1
Redis  ─────────────── ✗ full: the lock is evicted       ↑ one update is lost
B                        ├─ lock ─ read 0 ─ write 1`,
	How: `
		A takes the lock. The server is given 2 MB more than it uses. Data without an expiry is written until the lock is gone, or the server
		takes no more. B requests the lock.`,
	Anomaly: "eviction",
	Needs:   []experiments.Need{experiments.RedisServer},
	Takes:   4 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "noeviction", Fault: true, Run: kit.OnSingle(full("noeviction"))},
		{Name: "allkeys-lru", Expect: experiments.Sometimes, Strategy: "v3", Fault: true, Run: kit.OnSingle(full("allkeys-lru"))},
		{Name: "volatile-lru", Expect: experiments.Sometimes, Strategy: "v3", Fault: true, Run: kit.OnSingle(full("volatile-lru"))},
	},
})

// full fills a node's memory until the lock is gone or nothing more is taken, and frees memory again.
func full(policy string) kit.Fault {
	return func(ctx context.Context, t *experiments.Trial, n *stack.Node) {
		gone := func(ctx context.Context) (gone bool, err error) {
			return gone, n.WithClient(func(c *redis.Client) error {
				there, err := c.Exists(ctx, kit.LockKey).Result()
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
