package topology

import (
	"context"
	"fmt"
)

// Servers are open connections to the servers of one kind.
type Servers interface {
	// Backend is what a strategy is built on, as versions.Backends.Use takes it.
	Backend() any
	// Ping returns nil when the servers answer. A server of ZooKeeper answers a lock's own connection: versions.Opened.Ping.
	Ping(context.Context) error
	Close() error
	// String names the servers, without a password.
	String() string
}

// connectors open the kinds of server that keep locks, by the name of the flag of app serve. Each is in the file of its kind.
var connectors = map[string]func(context.Context, Config) (Servers, error){
	"redis":     func(ctx context.Context, c Config) (Servers, error) { return Open(ctx, c) },
	"redlock":   func(ctx context.Context, c Config) (Servers, error) { return OpenIndependent(ctx, c.Addrs, c.Access) },
	"database":  func(ctx context.Context, c Config) (Servers, error) { return openDatabase(ctx, c.Addrs[0]) },
	"zookeeper": func(_ context.Context, c Config) (Servers, error) { return ZooKeeper(c.Addrs), nil },
	"etcd": func(ctx context.Context, c Config) (Servers, error) {
		return OpenEtcd(ctx, c.Addrs)
	},
	"memcached": func(ctx context.Context, c Config) (Servers, error) { return openMemcached(ctx, c.Addrs) },
}

// Connect opens connections to servers of a kind, and waits until they answer or ctx ends. The error names what could not be reached.
func Connect(ctx context.Context, kind string, cfg Config) (Servers, error) {
	connect, known := connectors[kind]
	if !known {
		return nil, fmt.Errorf("there is no kind of server %q", kind)
	}
	return connect(ctx, cfg)
}
