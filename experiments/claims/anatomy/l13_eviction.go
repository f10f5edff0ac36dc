package anatomy

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
	"locklab/lockstrategy/naive"
	"locklab/stack"
)

var L13 = experiments.Experiment{
	ID:       "L13-eviction",
	Articles: experiments.Articles{"A4"},
	Claim:    "A full Redis with an evicting memory policy deletes the lock's key while a client holds the lock.",
	Says: `
		A4's v3 keeps the lock and the counter in one Redis; its RedLock has five nodes of its own. A4 says that v3 stands on the condition
		that Redis never fails. No article says anything of the server's memory.`,
	Elsewhere: `
		A Redis that is configured as a cache evicts keys when it is full. Each policy with the name volatile-… chooses among the keys
		that have an expiry, as a lock does (https://redis.io/docs/latest/develop/reference/eviction/).`,
	Lesson: experiments.Lesson{
		Question: `
			The Redis of the lock is a cache, too, and its memory is full. A client holds the lock, and other clients go on writing
			data. What happens to the lock's key?`,
		Predict: `
			(a) Redis keeps it, because its lease has not ended. (b) Redis refuses the new data. (c) Redis deletes it, and another
			client is granted the lock.`,
		Why: `
			(c) with two policies, and (b) with noeviction: the memory policy decides. Redis does not know that a key is a lock. With allkeys-lru it
			evicts any key that was not used lately. With volatile-lru it evicts only keys with an expiry, and a good lock has one. B then finds no
			key and is granted the lock while A works. With noeviction Redis refuses the new data, and the lock stays.`,
		Fix: "Set maxmemory-policy to noeviction, or give the locks a Redis of their own. When `app serve` starts, it warns of an " +
			"evicting policy. A resource that checks the fencing token refuses A's late write.",
		Limits: `
			The run fills a small server quickly. How soon a cache evicts a lock depends on its size and its load. A Redis with
			noeviction that is full grants no lock: clients get an error instead of a second holder. No variant here checks the fencing
			token.`,
		Next:  "F06 (the server restarts empty), F07 (a clock ends the key early), L11 (the fencing token refuses a late write).",
		Level: experiments.Medium,
	},
	Drawing: `
A      ├─ lock ─ read 0 ───────────────────────────── write 1
Redis  ─────────────── ✗ full: the lock is evicted       ↑ one update is lost
B                        ├─ lock ─ read 0 ─ write 1`,
	How: `
		A takes the lock and reads. The server's memory is limited to 2 MB more than it uses. Data without an expiry is written until
		the lock is gone, or until the server refuses more. Then the server gets free memory again, and B requests the lock.
		RedLock's memory is full on the one node that decides between two majorities. The naive locks of the articles run on one Redis.`,
	Anomaly: "eviction",
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Takes:  11 * time.Second,
		Trials: 1, // each fills a server until the lock is gone
	},
	Check: history.Counter,
	Variants: slices.Concat([]experiments.Variant{
		{Name: "noeviction", Fault: true, Run: clients.OnSingle(full("noeviction", clients.LockKey))},
		{
			Name: "allkeys-lru", Expect: experiments.Sometimes, Strategy: "v3", Fault: true,
			Run: clients.OnSingle(full("allkeys-lru", clients.LockKey)),
		},
		{
			Name: "volatile-lru", Expect: experiments.Sometimes, Strategy: "v3", Fault: true,
			Run: clients.OnSingle(full("volatile-lru", clients.LockKey)),
		},
	}, clients.NaiveVariants("allkeys-lru", clients.LostAfter(full("allkeys-lru", naive.Key))), []experiments.Variant{{
		Name: "RedLock, allkeys-lru on the deciding node", Expect: experiments.Sometimes, Strategy: "v4", Fault: true, Trials: 1,
		Run: failovers.OnDecidingNode(full("allkeys-lru", clients.NodeKey)),
	}}),
}

// full fills a node's memory until the lock is gone or nothing more is taken, and frees memory again.
func full(policy, key string) clients.Fault {
	return func(ctx context.Context, t *experiments.Trial, n *stack.Node) {
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
