package servers

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// SlotMove is one slot of a cluster on its way between two masters, as every reshard moves each slot.
type SlotMove struct {
	From, To *Node
	Slot     int

	all        []*Node // the masters
	fromID, id string  // of To
}

// MoveSlot begins to move the slot of a key to another master. Until [SlotMove.End] a command whose keys From has not is redirected (ASK),
// and one of which it has some is refused (TRYAGAIN). No key has moved yet.
func (t *Topology) MoveSlot(ctx context.Context, key string) (*SlotMove, error) {
	m := &SlotMove{}
	for _, node := range t.Nodes {
		err := node.WithClient(func(c *redis.Client) error { return m.look(ctx, c, node, key) })
		if err != nil {
			return nil, fmt.Errorf("stack: %s: %w", node.Name, err)
		}
	}
	if m.From == nil || m.To == nil {
		return nil, fmt.Errorf("stack: no two masters to move a slot between")
	}
	err := errors.Join(
		m.set(ctx, m.To, "IMPORTING", m.fromID),
		m.set(ctx, m.From, "MIGRATING", m.id))
	return m, err
}

// look learns whether a node is a master, and whether it has the slot.
func (m *SlotMove) look(ctx context.Context, c *redis.Client, node *Node, key string) error {
	slot, err := c.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	m.Slot = int(slot)
	id, err := c.Do(ctx, "CLUSTER", "MYID").Text()
	if err != nil {
		return err
	}
	ranges, err := c.ClusterSlots(ctx).Result() //nolint:staticcheck // deprecated, and known to every version
	master, has := false, false
	for _, r := range ranges {
		own := r.Nodes[0].ID == id
		master = master || own
		has = has || own && r.Start <= m.Slot && m.Slot <= r.End
	}
	switch {
	case err != nil || !master:
		return err
	case has:
		m.From, m.fromID = node, id
	case m.To == nil:
		m.To, m.id = node, id
	}
	m.all = append(m.all, node)
	return nil
}

func (m *SlotMove) set(ctx context.Context, node *Node, state, id string) error {
	return node.WithClient(func(c *redis.Client) error {
		return c.Do(ctx, "CLUSTER", "SETSLOT", m.Slot, state, id).Err()
	})
}

// Keys moves the keys that From has in the slot, and returns their names.
func (m *SlotMove) Keys(ctx context.Context) (moved []string, err error) {
	err = m.From.WithClient(func(c *redis.Client) (err error) {
		const most, within = 1000, 5000 // milliseconds
		if moved, err = c.ClusterGetKeysInSlot(ctx, m.Slot, most).Result(); err != nil || len(moved) == 0 {
			return err
		}
		move := []any{"MIGRATE", "127.0.0.1", portOf(m.To.Addr), "", 0, within, "KEYS"}
		for _, key := range moved {
			move = append(move, key)
		}
		return c.Do(ctx, move...).Err()
	})
	return moved, err
}

// End gives the slot to To, and tells all masters.
func (m *SlotMove) End(ctx context.Context) error {
	for _, node := range append([]*Node{m.To, m.From}, m.all...) {
		if err := m.set(ctx, node, "NODE", m.id); err != nil {
			return fmt.Errorf("stack: %s: %w", node.Name, err)
		}
	}
	return nil
}

// Refused is how many commands From has refused with an error of the kind code, such as TRYAGAIN.
func (n *Node) Refused(ctx context.Context, code string) (count int64) {
	text, err := n.Info(ctx, "errorstats", "errorstat_"+code)
	if err == nil {
		_, err = fmt.Sscanf(text, "count=%d", &count)
	}
	if err != nil {
		return 0 // the field is there after the first one
	}
	return count
}
