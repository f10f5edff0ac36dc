package claims

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/topology"
)

var _ = register(experiments.Experiment{
	ID:      "L16-cluster-slots",
	Article: "A3, A4",
	Claim:   "A lock whose scripts touch several keys needs a hash tag on a cluster; without it the server refuses them with CROSSSLOT.",
	Says:    "A3 and A4 run their lock on a cluster of three masters and three replicas, and have one key and a channel. A lock with a fence and a queue beside it has more keys, and a cluster runs a script only if all of them lie in one slot.",
	Drawing: `
lock:order:7                                      slot a ─┐
locklab_fence:lock:order:7    (no tag)            slot b ─┴─ EVAL over both → CROSSSLOT
locklab_fence:{lock:order:7}  (tag: the lock)     slot a ─── EVAL over both → granted`,
	How:    "A lock is taken and given back for names that lie on each of the three masters: by v3, which tags what belongs to a lock, and by the same script with the same names without braces. The slots are asked of the cluster.",
	Needs:  []experiments.Need{experiments.RedisServer},
	Takes:  7 * time.Second,
	Trials: 1, // a cluster takes its time to form, and nothing here is left to chance
	Check:  func(trial []history.Event) []history.Violation { return led(trial, history.Noted(trial, crossSlot)) },
	Variants: []experiments.Variant{
		{Name: "tag", Run: onCluster(tagged)},
		{Name: "no tag", Expect: experiments.Sometimes, Run: onCluster(untagged)},
	},
})

// crossSlot is noted of a script that the cluster refused for its keys.
const crossSlot = "CROSSSLOT: the keys of the script lie in different slots"

// onCluster runs attempt for a name on each master of a cluster.
func onCluster(attempt func(ctx context.Context, t *experiments.Trial, client redis.UniversalClient, key string) error) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		servers, err := t.Stack.Topology(ctx, string(topology.Cluster), t.Real)
		if err != nil {
			return err
		}
		client, err := connect(ctx, t, servers)
		if err != nil {
			return err
		}
		for _, key := range []string{"lock:order:1", "lock:order:2", "lock:order:3", "lock:order:{4}"} {
			if err := attempt(ctx, t, client, key); err != nil {
				return err
			}
		}
		return nil
	}
}

// tagged takes the lock by v3.
func tagged(ctx context.Context, t *experiments.Trial, client redis.UniversalClient, key string) error {
	acquire, _ := lockstrategy.Commands(key, "somebody:1", longLease)
	if err := noteSlots(ctx, t, client, keysIn(acquire)); err != nil {
		return err
	}
	o, err := v3(t, client, longLease)
	if err != nil {
		return err
	}
	a := newClient(t, "A", o.Strategy)
	a.key = key
	h, err := a.acquire(ctx, lockstrategy.TryOnce())
	if err != nil {
		refusedAcross(t, err)
		return err
	}
	return h.release(ctx)
}

// untagged sends v3's script with the names of its keys, but without the braces.
func untagged(ctx context.Context, t *experiments.Trial, client redis.UniversalClient, key string) error {
	acquire, _ := lockstrategy.Commands(key, "somebody:1", longLease)
	keys := keysIn(acquire)
	for i := range keys {
		keys[i] = strings.NewReplacer("{", "", "}", "").Replace(keys[i].(string))
	}
	if err := noteSlots(ctx, t, client, keys); err != nil {
		return err
	}
	err := client.Do(ctx, acquire...).Err()
	t.Record(history.Event{Timeline: "A", Kind: history.Command, Key: key, Text: fmt.Sprintf("acquire.lua → %v", err)})
	if refusedAcross(t, err) {
		return nil
	}
	return err
}

// keysIn are the keys of a script's command, in their place.
func keysIn(eval []any) []any { return eval[3 : 3+eval[2].(int)] }

// noteSlots asks the cluster where keys lie.
func noteSlots(ctx context.Context, t *experiments.Trial, client redis.UniversalClient, keys []any) error {
	var where []string
	for _, key := range keys {
		slot, err := client.ClusterKeySlot(ctx, key.(string)).Result()
		if err != nil {
			return err
		}
		where = append(where, fmt.Sprintf("%s: %d", key, slot))
	}
	t.Note("slots", strings.Join(where, ", "))
	return nil
}

// refusedAcross notes the cluster's refusal, if err is one.
func refusedAcross(t *experiments.Trial, err error) bool {
	across := err != nil && strings.Contains(err.Error(), "CROSSSLOT")
	if across {
		t.Note("slots", crossSlot)
	}
	return across
}
