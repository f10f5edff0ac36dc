package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
)

// SlotMove is one slot of a cluster on its way between two masters, as every reshard moves each slot.
type SlotMove struct {
	From, To *servers.Node

	slot int
	id   map[*servers.Node]string // of the masters
}

// MoveSlot begins to move the slot of a key to another master. Until [SlotMove.End] a command whose keys From has not is redirected (ASK),
// and one of which it has some is refused (TRYAGAIN). No key has moved yet.
func MoveSlot(ctx context.Context, cluster *servers.Topology, key string) (*SlotMove, error) {
	m := &SlotMove{id: make(map[*servers.Node]string)}
	from, err := cluster.MasterOf(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, n := range cluster.Nodes {
		if n.HasRole(ctx, "master") != nil {
			continue
		}
		err := n.WithClient(func(c *redis.Client) (err error) {
			m.id[n], err = c.Do(ctx, "CLUSTER", "MYID").Text()
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		if n != from {
			m.To = n
		}
	}
	m.From = from
	err = from.WithClient(func(c *redis.Client) error {
		slot, err := c.ClusterKeySlot(ctx, key).Result()
		m.slot = int(slot)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from.Name, err)
	}
	return m, errors.Join(
		m.set(ctx, m.To, "IMPORTING", m.From),
		m.set(ctx, m.From, "MIGRATING", m.To))
}

// set tells a node what happens to the slot, from or to another one.
func (m *SlotMove) set(ctx context.Context, at *servers.Node, state string, other *servers.Node) error {
	return at.WithClient(func(c *redis.Client) error {
		return c.Do(ctx, "CLUSTER", "SETSLOT", m.slot, state, m.id[other]).Err()
	})
}

// Keys moves the keys that From has in the slot, and returns their names.
func (m *SlotMove) Keys(ctx context.Context) (moved []string, err error) {
	err = m.From.WithClient(func(c *redis.Client) (err error) {
		const most, within = 1000, 5000 // milliseconds
		if moved, err = c.ClusterGetKeysInSlot(ctx, m.slot, most).Result(); err != nil || len(moved) == 0 {
			return err
		}
		host, port, _ := net.SplitHostPort(m.To.Addr)
		move := []any{"MIGRATE", host, port, "", 0, within, "KEYS"}
		for _, key := range moved {
			move = append(move, key)
		}
		return c.Do(ctx, move...).Err()
	})
	return moved, err
}

// End gives the slot to To, and tells all masters. To must know first.
func (m *SlotMove) End(ctx context.Context) error {
	err := m.set(ctx, m.To, "NODE", m.To)
	for node := range m.id {
		err = errors.Join(err, m.set(ctx, node, "NODE", m.To))
	}
	return err
}

// Refused is how many commands a node has refused with an error of the kind code, such as TRYAGAIN.
func Refused(ctx context.Context, n *servers.Node, code string) (count int64) {
	text, err := n.Info(ctx, "errorstats", "errorstat_"+code)
	if err == nil {
		_, err = fmt.Sscanf(text, "count=%d", &count)
	}
	if err != nil {
		return 0 // the field is there after the first one
	}
	return count
}
