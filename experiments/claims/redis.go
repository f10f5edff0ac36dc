package claims

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/topology"
)

// connect returns a client of the servers, as the app has it. It is closed at the end of the trial.
func connect(ctx context.Context, t *experiments.Trial, servers *stack.Topology) (redis.UniversalClient, error) {
	reached, err := topology.ParseAddrMap(servers.Map)
	if err != nil {
		return nil, err
	}
	opened, err := topology.Open(ctx, topology.Config{
		Kind: topology.Kind(servers.Kind), Addrs: servers.Addrs, SentinelMaster: stack.SentinelMaster,
		Access: topology.Access{Password: servers.Password, Map: reached},
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(opened.Close)
	return t.Tap(opened.Master), nil
}

// single starts one Redis and connects to it.
func single(ctx context.Context, t *experiments.Trial) (*stack.Node, redis.UniversalClient, error) {
	servers, err := t.Stack.Topology(ctx, string(topology.Single), t.Real)
	if err != nil {
		return nil, nil, err
	}
	client, err := connect(ctx, t, servers)
	return servers.Nodes[0], client, err
}

// v3 opens the Redis lock for a process of its own: two of them are two processes to each other.
func v3(t *experiments.Trial, client redis.UniversalClient, lease time.Duration) (*lockstrategy.Opened, error) {
	return opened(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: client, Lease: lease})
}

func opened(t *experiments.Trial, name string, b lockstrategy.Backends) (*lockstrategy.Opened, error) {
	o, err := lockstrategy.Open(name, b)
	if err != nil {
		return nil, err
	}
	t.Cleanup(o.Close)
	return o, nil
}
