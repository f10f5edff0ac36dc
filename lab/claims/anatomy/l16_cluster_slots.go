package anatomy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock/script"
	"locklab/topology"
)

var L16 = Experiments.Add(lab.Experiment{
	ID:       "L16-cluster-slots",
	Articles: lab.Articles{"A3", "A4"},
	Claim:    "On a cluster the keys of one lock need a common hash tag; without it the server refuses the lock's scripts with CROSSSLOT.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Takes:  7 * time.Second,
		Trials: 1, // a cluster takes its time to form, and nothing here is random
	},
	Check: clients.Noted(crossSlot),
	Variants: []lab.Variant{
		{Name: "tag", Run: onCluster(tagged)},
		{Name: "no tag", Expect: lab.Sometimes, Run: onCluster(untagged)},
	},
})

// crossSlot is noted of a script that the cluster refused because of its keys.
var crossSlot = history.Mark{Name: "CROSSSLOT: the keys of the script are in different slots"}

// onCluster runs attempt for a name on each master of a cluster.
func onCluster(attempt func(ctx context.Context, t *lab.Trial, conn redis.UniversalClient, key string)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		servers, err := t.Stack.Topology(ctx, string(topology.Cluster), t.Real)
		t.Must(err)
		conn := clients.Connect(ctx, t, servers)
		for _, key := range []string{"lock:order:1", "lock:order:2", "lock:order:3", "lock:order:{4}"} {
			attempt(ctx, t, conn, key)
		}
	}
}

// tagged takes the lock by v3.
func tagged(ctx context.Context, t *lab.Trial, conn redis.UniversalClient, key string) {
	acquire, _ := script.Commands(key, "a client:1", clients.LongLease)
	noteSlots(ctx, t, conn, keysIn(acquire))
	a := clients.RedisLock(t, "A", conn, clients.LongLease)
	a.Key = key
	h, err := a.TryAcquire(ctx, lockstrategy.TryOnce())
	noteCrossSlot(t, err)
	t.Must(err)
	h.Release(ctx)
}

// untagged sends v3's script with the names of its keys, but without the braces.
func untagged(ctx context.Context, t *lab.Trial, conn redis.UniversalClient, key string) {
	acquire, _ := script.Commands(key, "a client:1", clients.LongLease)
	keys := keysIn(acquire)
	for i := range keys {
		keys[i] = strings.NewReplacer("{", "", "}", "").Replace(keys[i].(string))
	}
	noteSlots(ctx, t, conn, keys)
	err := conn.Do(ctx, acquire...).Err()
	t.Record(history.Event{Timeline: "A", Kind: history.Command, Key: key, Text: fmt.Sprintf("acquire.lua → %v", err)})
	if !noteCrossSlot(t, err) {
		t.Must(err)
	}
}

// keysIn are the keys of a script's command, as a part of it.
func keysIn(eval []any) []any { return eval[3 : 3+eval[2].(int)] }

// noteSlots asks the cluster in which slots keys are.
func noteSlots(ctx context.Context, t *lab.Trial, conn redis.UniversalClient, keys []any) {
	var where []string
	for _, key := range keys {
		slot, err := conn.ClusterKeySlot(ctx, key.(string)).Result()
		t.Must(err)
		where = append(where, fmt.Sprintf("%s: %d", key, slot))
	}
	t.Note("slots", strings.Join(where, ", "))
}

// noteCrossSlot notes the cluster's refusal, if err is one.
func noteCrossSlot(t *lab.Trial, err error) bool {
	across := err != nil && strings.Contains(err.Error(), "CROSSSLOT")
	if across {
		t.Mark("slots", crossSlot)
	}
	return across
}
