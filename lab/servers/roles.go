package servers

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// MasterOf is the master of a key. A sentinel names it, or a cluster knows it as the owner of the key's slot; else it is the node that is a
// master.
func (t *Topology) MasterOf(ctx context.Context, key string) (*Node, error) {
	var addr string
	var err error
	switch {
	case len(t.Sentinels) > 0:
		err = withSentinel(t.Sentinels[0], func(c *redis.SentinelClient) (err error) {
			addr, err = namedMaster(ctx, c)
			return err
		})
	case t.Kind == "cluster":
		addr, err = t.Nodes[0].OwnerOf(ctx, key)
	default:
		for _, n := range t.Nodes {
			if n.HasRole(ctx, "master") == nil {
				return n, nil
			}
		}
		return nil, fmt.Errorf("none of %d nodes is a master", len(t.Nodes))
	}
	if err != nil {
		return nil, err
	}
	return t.nodeAt(addr)
}

// nodeAt is the node that announces an address.
func (t *Topology) nodeAt(addr string) (*Node, error) {
	for _, n := range t.Nodes {
		if n.AnnouncedAddr() == addr {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s is the master, and no node of this %s", addr, t.Kind)
}

// ReplicasOf are the nodes that copy a master.
func (t *Topology) ReplicasOf(ctx context.Context, master *Node) (all []*Node, err error) {
	for _, n := range t.Nodes {
		copies, err := n.copies(ctx, master)
		if err != nil {
			return nil, err
		}
		if copies {
			all = append(all, n)
		}
	}
	return all, nil
}

func (n *Node) copies(ctx context.Context, master *Node) (bool, error) {
	role, err := n.Info(ctx, "replication", "role")
	if err != nil || role != "slave" {
		return false, err
	}
	host, err := n.Info(ctx, "replication", "master_host")
	if err != nil {
		return false, err
	}
	port, err := n.Info(ctx, "replication", "master_port")
	return net.JoinHostPort(host, port) == master.AnnouncedAddr(), err
}

// HasRole returns an error unless a node has a role in its replication: master or slave.
func (n *Node) HasRole(ctx context.Context, want string) error {
	role, err := n.Info(ctx, "replication", "role")
	if err == nil && role != want {
		err = fmt.Errorf("%s is a %s", n.Name, role)
	}
	return err
}

// OwnerOf is the address of the master that owns a key's slot, as a node of a cluster believes.
func (n *Node) OwnerOf(ctx context.Context, key string) (addr string, err error) {
	err = n.WithClient(func(c *redis.Client) error {
		slot, err := c.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			return err
		}
		ranges, err := c.ClusterSlots(ctx).Result() //nolint:staticcheck // deprecated, and what go-redis's cluster client asks
		for _, r := range ranges {
			if int64(r.Start) <= slot && slot <= int64(r.End) && len(r.Nodes) > 0 {
				addr = r.Nodes[0].Addr
			}
		}
		return err
	})
	return addr, err
}

// AwaitNamed waits until every server that tells clients the master of a key names a node: the sentinels, or the nodes of a cluster. Dead
// nodes are not asked.
func (t *Topology) AwaitNamed(ctx context.Context, key string, want *Node, dead ...*Node) error {
	right := func(named string, err error) error {
		if err == nil && named != want.AnnouncedAddr() {
			err = fmt.Errorf("%s is named, not %s", named, want.Name)
		}
		return err
	}
	if t.Kind == "cluster" {
		for _, n := range t.Nodes {
			if slices.Contains(dead, n) {
				continue
			}
			if err := n.Await(ctx, func(ctx context.Context) error { return right(n.OwnerOf(ctx, key)) }); err != nil {
				return err
			}
		}
	}
	return t.AwaitSentinels(ctx, func(ctx context.Context, c *redis.SentinelClient) error { return right(namedMaster(ctx, c)) })
}

// AwaitPromotion waits until a replica has replaced the old master of a key, which every sentinel names, and returns it.
func (t *Topology) AwaitPromotion(ctx context.Context, key string, old *Node) (promoted *Node, err error) {
	err = Until(ctx, func(ctx context.Context) (err error) {
		if promoted, err = t.MasterOf(ctx, key); err == nil && promoted == old {
			err = fmt.Errorf("%s is still the master", old.Name)
		}
		return err
	})
	if err == nil {
		err = t.AwaitNamed(ctx, key, promoted)
	}
	if err == nil {
		err = promoted.Await(ctx, func(ctx context.Context) error { return promoted.HasRole(ctx, "master") })
	}
	return promoted, err
}

// AwaitSentinels asks each sentinel until its answer is as it should be. Without sentinels it returns immediately.
func (t *Topology) AwaitSentinels(ctx context.Context, question func(context.Context, *redis.SentinelClient) error) error {
	for _, n := range t.Sentinels {
		err := withSentinel(n, func(c *redis.SentinelClient) error {
			return n.Await(ctx, func(ctx context.Context) error { return question(ctx, c) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func withSentinel(n *Node, use func(*redis.SentinelClient) error) error {
	c := redis.NewSentinelClient(&redis.Options{
		Addr: n.Addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
	defer c.Close()
	return use(c)
}

// namedMaster is the address that a sentinel tells clients.
func namedMaster(ctx context.Context, c *redis.SentinelClient) (string, error) {
	at, err := c.GetMasterAddrByName(ctx, SentinelMaster).Result()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(at[0], at[1]), nil
}
