package stack

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

// CutReplicas cuts the way from a master to some of its replicas, and then writes key on the master, which does not arrive: that is
// the proof. mend undoes it, once. Where there is a link, it is cut; a container is taken off its network, and so cut off from
// sentinels and the rest of a cluster, too, until mend.
//
// Pausing a replica would not do: the kernel of a paused process goes on receiving.
func (n *Node) CutReplicas(ctx context.Context, key string, replicas ...*Node) (proof string, mend func() error, err error) {
	if mend, err = n.part(ctx, replicas); err != nil {
		return "", mend, err
	}
	gotLost := n.lost()
	if err = n.WithClient(func(c *redis.Client) error { return c.Set(ctx, key, "1", time.Minute).Err() }); err != nil {
		return "", mend, err
	}
	if err = n.Await(ctx, gotLost); err != nil {
		return "", mend, err
	}
	proof, err = n.without(ctx, replicas)
	return proof, mend, err
}

// part cuts.
func (n *Node) part(ctx context.Context, replicas []*Node) (mend func() error, err error) {
	if n.Proxy != nil {
		n.Proxy.DropReplicas(replicas...)
		return sync.OnceValue(func() error { n.Proxy.Mend(); return nil }), nil
	}
	var away []*container
	mend = sync.OnceValue(func() (err error) {
		ctx, cancel := soon()
		defer cancel()
		for _, c := range away {
			err = errors.Join(err, c.Join(ctx))
		}
		return err
	})
	for _, replica := range replicas {
		c, contained := replica.Server.(*container)
		if !contained {
			return mend, fmt.Errorf("stack: %s has no link, and is no container: its replication cannot be cut", n.Name)
		}
		if err := c.Leave(ctx); err != nil {
			return mend, err
		}
		away = append(away, c)
	}
	return mend, nil
}

// lost returns a question: has the link swallowed something since? What goes to a container that is on no network is lost at once.
func (n *Node) lost() func(context.Context) error {
	if n.Proxy == nil {
		return func(context.Context) error { return nil }
	}
	before := n.Proxy.Dropped().Bytes
	return func(context.Context) error {
		if n.Proxy.Dropped().Bytes == before {
			return fmt.Errorf("nothing got lost on the %s", n.Proxy.Name)
		}
		return nil
	}
}

// without compares what a master has with what its replicas have.
func (n *Node) without(ctx context.Context, replicas []*Node) (proof string, err error) {
	written, err := n.Number(ctx, "replication", "master_repl_offset")
	if err != nil {
		return "", err
	}
	var have []string
	for _, replica := range replicas {
		has, err := replica.offset(ctx)
		if err != nil {
			return "", err
		}
		if has >= written {
			return "", fmt.Errorf("stack: %s has all %d bytes of %s, which it was cut off from", replica.Name, written, n.Name)
		}
		have = append(have, fmt.Sprintf("%s %d", replica.Name, has))
	}
	return fmt.Sprintf("a write is on the master, which has %d bytes for its replicas, and they have: %s", written, strings.Join(have, ", ")), nil
}

// offset is how much of its master's writes a replica says that it has. A container is asked inside: nothing else reaches it.
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
	value, err := field(text, name)
	if err != nil {
		return 0, fmt.Errorf("stack: %s: %w", n.Name, err)
	}
	return strconv.ParseInt(value, 10, 64)
}

// field is a line of what INFO answers.
func field(text, name string) (string, error) {
	_, after, found := strings.Cut(text, "\n"+name+":")
	if !found {
		return "", fmt.Errorf("INFO says nothing of %s", name)
	}
	value, _, _ := strings.Cut(after, "\r\n")
	return value, nil
}
