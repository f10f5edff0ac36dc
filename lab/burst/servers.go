package burst

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/lab/servers"
	"locklab/versions"
)

// startServers starts Redis and the servers that keep locks, simultaneously. It returns the instances' flags that name the latter.
func (c Service) startServers(ctx context.Context, s *servers.Stack, r *Running) ([]string, error) {
	kinds := slices.DeleteFunc(slices.Clone(c.Servers), func(kind string) bool { return kind == versions.NameRedis })
	flags := make([]string, len(kinds))
	if !slices.Contains(kinds, versions.NameDatabase) {
		flags = append(flags, "--"+versions.NameDatabase+"="+s.SQLite())
	}
	group, ctx := errgroup.WithContext(ctx)
	start := s.Topology
	if c.Proxied {
		start = s.ProxiedTopology
	}
	group.Go(func() (err error) { r.Redis, err = start(ctx, c.Topology, c.Real); return err })
	for i, kind := range kinds {
		group.Go(func() error {
			started, err := s.Start(ctx, kind, 1, c.Real) // a burst needs no failover
			if kind == versions.NameRedLock {
				r.RedLock = started.Nodes
			}
			flags[i] = "--" + kind + "=" + strings.Join(started.Addrs, ",")
			return err
		})
	}
	return flags, group.Wait()
}
