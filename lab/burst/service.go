package burst

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/lab/servers"
)

// Service says how the app is started: instances behind a balancer, with the servers that they need.
type Service struct {
	App       []string // the command line of an instance, without its flags
	Topology  string   // of Redis
	Proxied   bool     // each server of Redis has a proxy before it, so that it can be cut off
	Real      bool     // use real servers; otherwise miniredis, which has the topology single only, and SQLite
	Servers   []string // that keep locks; Redis is started in any case. See versions.RequiredServers
	Instances int
	Named     bool          // the instances are instance-1 and so on; otherwise each is named after its port, as in the article
	Think     time.Duration // between reading and writing an order
	Lease     time.Duration // of the locks; 0: the instances' default
	Flags     []string      // of each instance, beside these
	Listen    string        // of the balancer, host:port; port 0 takes a free one
}

// Running is a service that was started.
type Running struct {
	Target
	Balancer  *servers.Balancer
	Instances []*servers.Instance
	Redis     *servers.Topology
	RedLock   []*servers.Node // where they were asked for
}

// Start starts the servers, the instances and the balancer. They end with s. tell is called before each step and may be nil.
func (c Service) Start(ctx context.Context, s *servers.Stack, tell func(step string)) (Running, error) {
	if tell == nil {
		tell = func(string) {}
	}
	tell("starting Redis")
	var r Running
	serverFlags, err := c.startServers(ctx, s, &r)
	if err != nil {
		return Running{}, err
	}
	tell("starting the instances and the balancer")
	r.Instances = make([]*servers.Instance, c.Instances)
	group, starting := errgroup.WithContext(ctx)
	for i := range r.Instances {
		group.Go(func() (err error) {
			name, argv := fmt.Sprintf("instance-%d", i+1), slices.Concat(c.App, c.flags(r.Redis), serverFlags)
			if c.Named {
				argv = append(argv, "--instance="+name)
			}
			r.Instances[i], err = s.InstanceAtFreeAddr(starting, name, argv...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Running{}, err
	}
	balancer, err := s.Balance(c.Listen, r.Instances...)
	if err != nil {
		return Running{}, err
	}
	r.Balancer, r.URL = balancer, balancer.URL
	return r, nil
}

// flags are those of every instance.
func (c Service) flags(redis *servers.Topology) []string {
	flags := []string{
		"--log-format=json", "--topology=" + redis.Kind, "--redis=" + strings.Join(redis.Addrs, ","),
		"--sentinel-master=" + servers.SentinelMaster, "--order-think=" + c.Think.String(),
		fmt.Sprintf("--nodes=%d", c.Instances),
	}
	if c.Lease > 0 {
		flags = append(flags, "--lease="+c.Lease.String())
	}
	return append(flags, c.Flags...)
}
