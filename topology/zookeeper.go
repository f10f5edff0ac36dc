package topology

import (
	"context"
	"strings"
)

// ZooKeeper is the addresses of one ensemble. A lock connects to them by itself, since its session is the lease.
type ZooKeeper []string

// Backend is the addresses.
func (z ZooKeeper) Backend() any { return []string(z) }

// Ping asks nobody: see [Servers].
func (ZooKeeper) Ping(context.Context) error { return nil }

// Close has nothing to close.
func (ZooKeeper) Close() error { return nil }

// String names the servers.
func (z ZooKeeper) String() string { return "zookeeper " + strings.Join(z, ",") }
