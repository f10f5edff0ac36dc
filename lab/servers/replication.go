package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// CutReplicas cuts a master off from some of its replicas, and then writes key on the master. The proof is that the write does not
// arrive. mend ends the cut; it may be called again. A node with a proxy drops what the replicas and it send each other. A
// replica in a container is taken off its network: until mend, the sentinels and the rest of a cluster do not reach it either.
//
// Pausing a replica would not cut replication: the kernel of a paused process still receives.
func (n *Node) CutReplicas(ctx context.Context, key string, replicas ...*Node) (proof string, mend func() error, err error) {
	if mend, err = n.cutOff(ctx, replicas); err != nil {
		return "", mend, err
	}
	dropped := n.awaitDrop()
	if err = n.WithClient(func(c *redis.Client) error { return c.Set(ctx, key, "1", time.Minute).Err() }); err != nil {
		return "", mend, err
	}
	if err = n.Await(ctx, dropped); err != nil {
		return "", mend, err
	}
	proof, err = n.lag(ctx, replicas)
	return proof, mend, err
}

func (n *Node) cutOff(ctx context.Context, replicas []*Node) (mend func() error, err error) {
	if n.Proxy != nil {
		n.Proxy.DropReplicas(replicas...)
		return sync.OnceValue(func() error { n.Proxy.Mend(); return nil }), nil
	}
	var cut []*container
	mend = sync.OnceValue(func() (err error) {
		for _, c := range cut {
			err = errors.Join(err, bounded(c.Connect))
		}
		return err
	})
	for _, replica := range replicas {
		c, contained := replica.Server.(*container)
		if !contained {
			return mend, fmt.Errorf("stack: %s has no proxy and is no container: its replication cannot be cut", n.Name)
		}
		if err := c.Disconnect(ctx); err != nil {
			return mend, err
		}
		cut = append(cut, c)
	}
	return mend, nil
}

// awaitDrop returns a condition: the proxy has dropped something since now. A container that is on no network needs no condition,
// because nothing reaches it.
func (n *Node) awaitDrop() func(context.Context) error {
	if n.Proxy == nil {
		return func(context.Context) error { return nil }
	}
	before := n.Proxy.Dropped().Bytes
	return func(context.Context) error {
		if n.Proxy.Dropped().Bytes == before {
			return fmt.Errorf("the %s has dropped nothing", n.Proxy.Name)
		}
		return nil
	}
}

// lag proves that every replica has less of the replication stream than its master.
func (n *Node) lag(ctx context.Context, replicas []*Node) (proof string, err error) {
	written, err := n.Number(ctx, "replication", "master_repl_offset")
	if err != nil {
		return "", err
	}
	var offsets []string
	for _, replica := range replicas {
		offset, err := replica.offset(ctx)
		if err != nil {
			return "", err
		}
		if offset >= written {
			return "", fmt.Errorf("stack: %s has all %d bytes of %s, although it was cut off", replica.Name, written, n.Name)
		}
		offsets = append(offsets, fmt.Sprintf("%s %d", replica.Name, offset))
	}
	const text = "a write is on the master, which has %d bytes for its replicas, and they have: %s"
	return fmt.Sprintf(text, written, strings.Join(offsets, ", ")), nil
}

// offset is how many bytes of its master's writes a replica has. In a container it is read by a command inside, because the
// container may be on no network.
func (n *Node) offset(ctx context.Context) (int64, error) {
	const name = "slave_repl_offset"
	c, contained := n.Server.(*container)
	if !contained {
		return n.Number(ctx, "replication", name)
	}
	text, err := c.Run(ctx, "sh", "-c", `redis-cli -p "$PORT" info replication`)
	if err != nil {
		return 0, err
	}
	value, err := infoField(text, name)
	if err != nil {
		return 0, fmt.Errorf("stack: %s: %w", n.Name, err)
	}
	return strconv.ParseInt(value, 10, 64)
}
