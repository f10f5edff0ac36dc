package burst

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/stack"
	"locklab/versions"
)

// RedLockNodes is how many independent nodes the app's RedLock has.
const RedLockNodes = 5

// A kind of server that keeps locks, and how it is started.
type serverKind struct {
	// missing says which program is not on this machine, and its Debian package. A nil function: the server can always be started.
	missing func() error
	// start starts the server, and returns its address as the instances' flag has it.
	start func(ctx context.Context, s *stack.Stack, c Service, r *Running) (addr string, err error)
}

// The servers that [Service] starts. Redis is started in any case.
var kinds = map[versions.Server]serverKind{
	versions.RedLockNodes: {start: startRedLock},
	versions.Database:     {start: startDatabase},
	versions.ZooKeeper:    {missing: stack.MissingZooKeeper, start: startZooKeeper},
	versions.Memcached:    {missing: stack.MissingMemcached, start: startMemcached},
	versions.Etcd:         {missing: stack.MissingEtcd, start: startEtcd},
}

// Missing says which program is not on this machine to start a kind of server, and its Debian package; nil: it can be started.
func Missing(server versions.Server) error {
	if k := kinds[server]; k.missing != nil {
		return k.missing()
	}
	return nil
}

func startRedLock(ctx context.Context, s *stack.Stack, c Service, r *Running) (string, error) {
	nodes, err := s.RedLock(ctx, RedLockNodes, c.Real)
	if err != nil {
		return "", err
	}
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr)
	}
	r.RedLock = nodes
	return strings.Join(addrs, ","), nil
}

// startDatabase starts MariaDB where it can. Otherwise the database is a file of SQLite, as in a service that does not ask for one.
func startDatabase(ctx context.Context, s *stack.Stack, c Service, r *Running) (string, error) {
	if !c.Real || stack.MissingMariaDB() != nil {
		return sqliteFile(s), nil
	}
	db, err := s.MariaDB(ctx)
	if err != nil {
		return "", err
	}
	r.Database = db
	return "mysql:" + db.DSN, nil
}

func startZooKeeper(ctx context.Context, s *stack.Stack, _ Service, r *Running) (string, error) {
	nodes, err := s.ZooKeeper(ctx, 1)
	if err != nil {
		return "", err
	}
	r.ZooKeeper = nodes[0]
	return nodes[0].Addr, nil
}

func startMemcached(ctx context.Context, s *stack.Stack, _ Service, r *Running) (addr string, err error) {
	if r.Memcached, err = s.Memcached(ctx); err != nil {
		return "", err
	}
	return r.Memcached.Addr, nil
}

// startEtcd starts one server: a burst needs no failover.
func startEtcd(ctx context.Context, s *stack.Stack, _ Service, r *Running) (string, error) {
	e, err := s.Etcd(ctx, 1)
	if err != nil {
		return "", err
	}
	r.Etcd = e
	return strings.Join(e.Addrs(), ","), nil
}

func sqliteFile(s *stack.Stack) string { return "sqlite:" + filepath.Join(s.Dir(), "orders.db") }

// startServers starts Redis and the servers that keep locks, simultaneously. It returns the instances' flags that name the latter.
func (c Service) startServers(ctx context.Context, s *stack.Stack, r *Running) ([]string, error) {
	flags := make([]string, len(c.Servers)+1)
	if !slices.Contains(c.Servers, versions.Database) {
		flags[len(c.Servers)] = versions.Database.Flag() + "=" + sqliteFile(s)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { r.Redis, err = s.Topology(ctx, c.Topology, c.Real); return err })
	for i, server := range c.Servers {
		if k, known := kinds[server]; known {
			group.Go(func() error {
				addr, err := k.start(ctx, s, c, r)
				flags[i] = server.Flag() + "=" + addr
				return err
			})
		}
	}
	err := group.Wait()
	return slices.DeleteFunc(flags, func(flag string) bool { return flag == "" }), err
}
