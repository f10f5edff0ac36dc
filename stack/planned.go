package stack

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
// FAILOVER at a sentinel. A server that refuses it for now is asked again. FailOver returns when the replica is a master. The old one may
// be a master, too, until [PlannedFailover.Demoted].
func (t *Topology) FailOver(ctx context.Context, key string) (f *PlannedFailover, err error) {
	f = &PlannedFailover{in: t, key: key}
	if f.Old, err = t.MasterOf(ctx, key); err != nil {
		return nil, err
	}
	candidates, err := t.ReplicasOf(ctx, f.Old)
	if err != nil || len(candidates) == 0 {
		return nil, errors.Join(err, fmt.Errorf("stack: %d replicas could replace %s", len(candidates), f.Old.Name))
	}
	at, command := f.Old, "FAILOVER"
	switch {
	case len(t.Sentinels) > 0:
		at, command = t.Sentinels[0], "SENTINEL FAILOVER "+SentinelMaster
	case t.Kind == "cluster":
		at, command = candidates[0], "CLUSTER FAILOVER"
	}
	f.Typed = command + " at " + at.Name
	err = at.WithClient(func(c *redis.Client) error {
		var words []any
		for _, word := range strings.Fields(command) {
			words = append(words, word)
		}
		return at.Await(ctx, func(ctx context.Context) error { return c.Do(ctx, words...).Err() })
	})
	if err != nil {
		return nil, fmt.Errorf("stack: %s: %w", f.Typed, err)
	}
	return f, Until(ctx, func(ctx context.Context) error {
		for _, n := range candidates {
			if err := n.HasRole(ctx, "master"); err == nil {
				f.New = n
				return nil
			}
		}
		return fmt.Errorf("stack: no replica of %s is a master", f.Old.Name)
	})
}

// Demoted waits until the old master is a replica. Until then it accepts writes, which the new one never gets.
func (f *PlannedFailover) Demoted(ctx context.Context) error {
	return f.Old.Await(ctx, func(ctx context.Context) error { return f.Old.HasRole(ctx, "slave") })
}

// Named waits until every server that tells clients the master tells them the new one: the sentinels, or the nodes of a cluster.
func (f *PlannedFailover) Named(ctx context.Context) error {
	right := func(named string, err error) error {
		if err == nil && named != f.New.AnnouncedAddr() {
			err = fmt.Errorf("stack: %s is named, not %s", named, f.New.Name)
		}
		return err
	}
	if f.in.Kind == "cluster" {
		for _, n := range f.in.Nodes {
			if err := n.Await(ctx, func(ctx context.Context) error { return right(n.OwnerOf(ctx, f.key)) }); err != nil {
				return err
			}
		}
	}
	return f.in.AwaitSentinels(ctx, func(ctx context.Context, c *redis.SentinelClient) error { return right(namedMaster(ctx, c)) })
}
