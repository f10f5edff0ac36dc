package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// PlannedFailover is a master that a replica replaces because an operator types it, for maintenance. No server has failed.
type PlannedFailover struct {
	Typed    string // the command, and where
	Old, New *Node

	in  *Topology
	key string
}

// FailOver lets a replica replace the master of a key. It types FAILOVER at the master, CLUSTER FAILOVER at the replica, or SENTINEL
// FAILOVER at a sentinel. A server that refuses it is asked again: no replica is in sync, or another failover goes on. FailOver returns
// when the replica is a master. The old one may be a master, too, until [PlannedFailover.Demoted].
func (t *Topology) FailOver(ctx context.Context, key string) (f *PlannedFailover, err error) {
	var candidates []*Node
	err = Until(ctx, func(ctx context.Context) (err error) {
		if f, candidates, err = t.plan(ctx, key); err != nil {
			return err
		}
		return f.typed(ctx, candidates[0])
	})
	if err != nil {
		return nil, fmt.Errorf("planned failover: %w", err)
	}
	return f, Until(ctx, func(ctx context.Context) error {
		for _, n := range candidates {
			if n.HasRole(ctx, "master") == nil {
				f.New = n
				return nil
			}
		}
		return fmt.Errorf("%s was typed, and no replica of %s is a master", f.Typed, f.Old.Name)
	})
}

// plan finds the master of a key, and the replicas that may replace it.
func (t *Topology) plan(ctx context.Context, key string) (f *PlannedFailover, candidates []*Node, err error) {
	f = &PlannedFailover{in: t, key: key}
	if f.Old, err = t.MasterOf(ctx, key); err != nil {
		return nil, nil, err
	}
	if candidates, err = t.ReplicasOf(ctx, f.Old); err == nil && len(candidates) == 0 {
		err = fmt.Errorf("%s has no replica", f.Old.Name)
	}
	return f, candidates, err
}

// typed types the command. An error that is no refusal is permanent: the failover may have begun.
func (f *PlannedFailover) typed(ctx context.Context, replica *Node) error {
	at, command := f.Old, "FAILOVER"
	switch {
	case len(f.in.Sentinels) > 0:
		at, command = f.in.Sentinels[0], "SENTINEL FAILOVER "+SentinelMaster
	case f.in.Kind == "cluster":
		at, command = replica, "CLUSTER FAILOVER"
	}
	f.Typed = command + " at " + at.Name
	var words []any
	for _, word := range strings.Fields(command) {
		words = append(words, word)
	}
	err := at.WithClient(func(c *redis.Client) error { return c.Do(ctx, words...).Err() })
	var refused redis.Error
	if err != nil && !errors.As(err, &refused) {
		return Permanent{fmt.Errorf("%s: %w", f.Typed, err)}
	}
	return err
}

// Demoted waits until the old master is a replica. Until then it accepts writes, which the new one never gets.
func (f *PlannedFailover) Demoted(ctx context.Context) error {
	return f.Old.Await(ctx, func(ctx context.Context) error { return f.Old.HasRole(ctx, "slave") })
}

// Named waits until every server that tells clients the master tells them the new one.
func (f *PlannedFailover) Named(ctx context.Context) error { return f.in.AwaitNamed(ctx, f.key, f.New) }
