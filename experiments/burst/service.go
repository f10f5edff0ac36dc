package burst

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/stack"
)

// RedLockNodes is how many independent nodes the app's RedLock has.
const RedLockNodes = 5

// Service says how the app is started: instances behind a balancer, with the servers that they need.
type Service struct {
	App       []string // the command line of an instance, without its flags
	Topology  string   // of Redis
	Real      bool     // use redis-server; otherwise miniredis, which has the topology single only
	RedLock   bool     // start the nodes of RedLock
	Instances int
	Named     bool          // the instances are instance-1 and so on; otherwise each is named after its port, as in the article
	Think     time.Duration // between reading and writing an order
	Lease     time.Duration // of the locks; 0: the instances' default
	Listen    string        // of the balancer, host:port; port 0 takes a free one
}

// Running is a service that was started.
type Running struct {
	Target
	Instances []*stack.Instance
	Redis     *stack.Topology
	RedLock   []*stack.Node // of RedLock, where it was asked for
}

// Start starts the servers, the instances and the balancer. They end with s. tell is called before each step and may be nil.
func (c Service) Start(ctx context.Context, s *stack.Stack, tell func(step string)) (Running, error) {
	if tell == nil {
		tell = func(string) {}
	}
	tell("starting Redis")
	var redis *stack.Topology
	var nodes []*stack.Node
	group, starting := errgroup.WithContext(ctx)
	group.Go(func() (err error) { redis, err = s.Topology(starting, c.Topology, c.Real); return err })
	if c.RedLock {
		group.Go(func() (err error) { nodes, err = s.RedLock(starting, RedLockNodes, c.Real); return err })
	}
	if err := group.Wait(); err != nil {
		return Running{}, err
	}
	tell("starting the instances and the balancer")
	instances := make([]*stack.Instance, c.Instances)
	group, starting = errgroup.WithContext(ctx)
	for i := range instances {
		group.Go(func() (err error) {
			name, argv := fmt.Sprintf("instance-%d", i+1), slices.Concat(c.App, c.flags(s, redis, nodes))
			if c.Named {
				argv = append(argv, "--instance="+name)
			}
			instances[i], err = s.Instance(starting, name, argv...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Running{}, err
	}
	balancer, err := s.Balance(c.Listen, instances...)
	if err != nil {
		return Running{}, err
	}
	return Running{Target{URL: balancer.URL}, instances, redis, nodes}, nil
}

func (c Service) flags(s *stack.Stack, redis *stack.Topology, nodes []*stack.Node) []string {
	flags := []string{
		"--listen=127.0.0.1:0", "--log-format=json", "--topology=" + redis.Kind, "--redis=" + strings.Join(redis.Addrs, ","),
		"--sentinel-master=" + stack.SentinelMaster, "--order-think=" + c.Think.String(),
		"--database=sqlite:" + filepath.Join(s.Dir(), "orders.db"),
	}
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr)
	}
	if c.Lease > 0 {
		flags = append(flags, "--lease="+c.Lease.String())
	}
	if c.RedLock {
		flags = append(flags, "--redlock="+strings.Join(addrs, ","))
	}
	return flags
}
