package topology

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Independent is a set of Redis servers without replication between them, for RedLock.
type Independent struct {
	Nodes []redis.UniversalClient
}

// OpenIndependent opens a client for each host:port or URL and waits until a majority answers or ctx ends:
// RedLock needs no more.
func OpenIndependent(ctx context.Context, addrs []string, access Access) (*Independent, error) {
	all, err := Config{Addrs: addrs, Access: access}.servers()
	if err != nil {
		return nil, err
	}
	i := &Independent{}
	for _, node := range all {
		i.Nodes = append(i.Nodes, newClient(node.addr, node.Access))
	}
	if err := until(ctx, i.Ping); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", i, err), i.Close())
	}
	return i, nil
}

// Backend is a []redis.UniversalClient.
func (i *Independent) Backend() any { return i.Nodes }

// String names the nodes.
func (*Independent) String() string { return "redlock" }

// Ping sends a PING to every node. It returns nil when a majority answers, or else an error with the address of every node that
// does not.
func (i *Independent) Ping(ctx context.Context) error {
	answers := make(chan error, len(i.Nodes))
	for _, node := range i.Nodes {
		go func() {
			err := node.Ping(ctx).Err()
			if refused(err) { // the reply does not contain the address
				err = fmt.Errorf("%s: %w", node.(*redis.Client).Options().Addr, err)
			}
			answers <- err
		}()
	}
	var silent []error
	for range i.Nodes {
		if err := <-answers; err != nil {
			silent = append(silent, err)
		}
	}
	if len(i.Nodes)-len(silent) >= len(i.Nodes)/2+1 {
		return nil
	}
	return fmt.Errorf("%d of %d nodes give no usable answer: %w", len(silent), len(i.Nodes), errors.Join(silent...))
}

// Close closes all clients.
func (i *Independent) Close() error {
	var err error
	for _, node := range i.Nodes {
		err = errors.Join(err, node.Close())
	}
	return err
}
