package agent

import (
	"context"

	"locklab/lockstrategy"
	"locklab/topology"
)

// Connect opens what the lock is built on. closeAll closes it; the lock is closed before.
func (l Lock) Connect(ctx context.Context) (b lockstrategy.Backends, closeAll func() error, err error) {
	servers, err := topology.Connect(ctx, l.Strategy, topology.Config{Kind: topology.Single, Addrs: l.Addrs})
	if err != nil {
		return b, nil, err
	}
	b.Expiry, b.Request, b.NodeTimeout = l.Lease, l.Request, l.Request
	b.Use(servers.Backend())
	return b, servers.Close, nil
}
