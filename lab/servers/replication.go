package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
)

// CutReplicas cuts a master off from some of its replicas, and then writes key on the master. The proof is that the write does not
// arrive. mend ends the cut; it may be called again. A node with a proxy drops what the replicas and it send each other. A
// replica in a container is taken off its network: until mend, the sentinels and the rest of a cluster do not reach it either.
//
// Pausing a replica would not cut replication: the kernel of a paused process still receives.
func (n *Node) CutReplicas(ctx context.Context, key string, replicas ...*Node) (proof string, mend func() error, err error) {
	dropped := func(context.Context) error { return nil } // nothing reaches a container that is on no network
	if n.Proxy == nil {
		mend, err = disconnect(ctx, replicas)
	} else {
		cut := n.DropReplicas(replicas...)
		mend = func() error { cut.Mend(); return nil }
		dropped = func(ctx context.Context) error { _, err := cut.Await(ctx); return err }
	}
	if err == nil {
		err = n.WithClient(func(c *redis.Client) error { return c.Set(ctx, key, "1", time.Minute).Err() })
	}
	if err == nil {
		err = dropped(ctx)
	}
	if err == nil {
		proof, err = n.lag(ctx, replicas)
	}
	return proof, sync.OnceValue(mend), err
}

// DelayReplicas lets what a master sends to its replicas arrive later. The proof is how long a write took to be confirmed by all of them.
// The node must have a proxy. key is written.
func (n *Node) DelayReplicas(ctx context.Context, by time.Duration, key string, replicas ...*Node) (proof string, err error) {
	var ports []string // with which a replica introduces itself
	for _, r := range replicas {
		ports = append(ports, strconv.Itoa(portOf(r.Addr)), strconv.Itoa(portOf(r.AnnouncedAddr())))
	}
	n.Proxy.Delay(func(c faultproxy.Chunk) time.Duration {
		if c.Direction == faultproxy.ToClient && slices.Contains(ports, c.Label) {
			return by
		}
		return 0
	})
	err = n.WithClient(func(c *redis.Client) error {
		own := c.Conn() // WAIT is about the writes of its connection
		defer own.Close()
		if err := own.Set(ctx, key, "1", time.Minute).Err(); err != nil {
			return err
		}
		began := time.Now()
		confirmed, err := own.Wait(ctx, len(replicas), time.Minute).Result()
		took := time.Since(began)
		if err == nil && (int(confirmed) < len(replicas) || took < by) {
			err = fmt.Errorf("%d of %d replicas of %s have confirmed a write within %s", confirmed, len(replicas), n.Name, took)
		}
		proof = fmt.Sprintf("%d replicas confirmed a write after %s", confirmed, took.Round(time.Microsecond))
		return err
	})
	return proof, err
}

// disconnect takes replicas in containers off their network, until mend.
func disconnect(ctx context.Context, replicas []*Node) (mend func() error, err error) {
	var cut []*container
	mend = func() (err error) {
		for _, c := range cut {
			err = errors.Join(err, bounded(c.Connect))
		}
		return err
	}
	for _, replica := range replicas {
		c, contained := replica.Server.(*container)
		if !contained {
			return mend, fmt.Errorf("%s has no proxy before its master and is no container: it cannot be cut off", replica.Name)
		}
		if err := c.Disconnect(ctx); err != nil {
			return mend, err
		}
		cut = append(cut, c)
	}
	return mend, nil
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
			return "", fmt.Errorf("%s has all %d bytes of %s, although it was cut off", replica.Name, written, n.Name)
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
		return 0, fmt.Errorf("%s: %w", n.Name, err)
	}
	return strconv.ParseInt(value, 10, 64)
}
