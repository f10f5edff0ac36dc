package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/stack"
)

// start brings up Redis, the RedLock nodes, two instances of this very binary and the balancer.
func (c *demoCommand) start(ctx context.Context, s *stack.Stack, tell *progress) (*burstsResult, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	real := stack.RealRedis() && !c.Embedded
	result := &burstsResult{Topology: c.Topology, Redis: engine(real)}
	tell.step("starting Redis (%s, %s) and %d RedLock nodes", c.Topology, result.Redis, redlockNodes)

	var redis *stack.Topology
	var nodes []*stack.Node
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { redis, err = s.Topology(groupCtx, c.Topology, real); return err })
	group.Go(func() (err error) { nodes, err = s.RedLock(groupCtx, redlockNodes, real); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}

	tell.step("starting two instances and the balancer")
	argv, err := c.instance(s, redis, nodes)
	if err != nil {
		return nil, err
	}
	instances := make([]*stack.Instance, 2)
	group, groupCtx = errgroup.WithContext(ctx)
	for i := range instances {
		group.Go(func() (err error) {
			instances[i], err = s.Instance(groupCtx, fmt.Sprintf("instance-%d", i+1), argv...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	balancer, err := s.Balance(c.Listen, instances...)
	if err != nil {
		return nil, err
	}
	result.URL = balancer.URL
	for _, i := range instances {
		result.Instances = append(result.Instances, instance{i.Name, i.URL})
	}
	return result, nil
}

// instance is the command line of both instances.
func (c *demoCommand) instance(s *stack.Stack, redis *stack.Topology, nodes []*stack.Node) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var redlock []string
	for _, node := range nodes {
		redlock = append(redlock, node.Addr)
	}
	return []string{
		self, "serve",
		"--listen=127.0.0.1:0",
		"--log-format=json",
		"--topology=" + redis.Kind,
		"--redis=" + strings.Join(redis.Addrs, ","),
		"--sentinel-master=" + stack.SentinelMaster,
		"--redlock=" + strings.Join(redlock, ","),
		"--database=sqlite:" + filepath.Join(s.Dir(), "orders.db"),
		"--order-think=" + c.Think.String(),
	}, nil
}

func engine(real bool) string {
	if real {
		return "redis-server"
	}
	return "miniredis"
}
