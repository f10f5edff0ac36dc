package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"locklab/experiments/burst"
	"locklab/stack"
)

// demoCommand holds the settings of the demo.
type demoCommand struct {
	bursts
	Topology string        `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"How to arrange Redis: ${enum}; all but single need a real redis-server (${default})."`
	Think    time.Duration `default:"100ms" help:"Time a driver thinks between reading and writing the order (${default})."`
	Listen   string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where the balancer listens; port 0 takes a free one (${default})."`
	Keep     bool          `help:"Leave everything running afterwards, until Ctrl-C."`
	Embedded bool          `help:"Use miniredis although a redis-server is there."`
}

// startWithin bounds the start of everything, a cluster too.
const startWithin = time.Minute

const demoNext = `Next:    go run ./cmd/app demo --keep                everything stays up, with curl lines to try
         go run ./cmd/app demo --topology cluster    the same over six Redis servers
`

func (c *demoCommand) validate() error {
	if err := c.bursts.validate(); err != nil {
		return err
	}
	if c.Think < 0 || c.Think > 10*time.Second {
		return misuse("--think is %s; allowed is from 0s to 10s", c.Think)
	}
	if c.Topology != "single" && c.Embedded {
		return misuse("--embedded is given with --topology %s; miniredis has single only: drop one of the two", c.Topology)
	}
	if c.Topology != "single" && !stack.RealRedis() {
		return unavailable(fmt.Errorf("--topology %s needs a real redis-server on the PATH (Debian: apt-get install redis-server; macOS: brew install redis)", c.Topology))
	}
	return address("--listen", c.Listen)
}

// Run starts the stack, runs every version, prints what was left, and stops the stack.
func (c *demoCommand) Run(ctx context.Context, std streams) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	tell := newProgress(std.err)
	s, err := stack.New()
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		tell.step("stopping")
		err = errors.Join(err, s.Close())
		tell.done()
	}()
	result, err := c.startAndPlay(ctx, s, tell)
	tell.done()
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: nothing is judged")}
	case err != nil:
		return unavailable(err)
	}
	if err := c.print(result, std); err != nil {
		return err
	}
	if c.Keep {
		fmt.Fprint(std.err, result.keeping())
		<-ctx.Done()
	}
	return result.exit()
}

// startAndPlay is the demo itself. An error means that it could not be played to its end.
func (c *demoCommand) startAndPlay(ctx context.Context, s *stack.Stack, tell *progress) (*burstsResult, error) {
	began := time.Now()
	result, err := c.start(ctx, s, tell)
	if err != nil {
		return nil, err
	}
	result.next = demoNext
	err = c.play(ctx, burst.Target{URL: result.URL}, result, tell)
	result.TookMS = time.Since(began).Milliseconds()
	return result, err
}

// start starts Redis, the RedLock nodes, two instances of this very binary and the balancer.
func (c *demoCommand) start(ctx context.Context, s *stack.Stack, tell *progress) (*burstsResult, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	service := burst.Service{
		App: []string{self, "serve"}, Topology: c.Topology, Real: stack.RealRedis() && !c.Embedded, RedLock: true,
		Instances: 2, Think: c.Think, Listen: c.Listen,
	}
	result := &burstsResult{Topology: c.Topology, Redis: engine(service.Real)}
	running, err := service.Start(ctx, s, func(step string) { tell.step("%s (%s, %s)", step, c.Topology, result.Redis) })
	if err != nil {
		return nil, err
	}
	result.URL = running.URL
	for _, i := range running.Instances {
		result.Instances = append(result.Instances, instance{i.Name, i.URL})
	}
	return result, nil
}

func engine(real bool) string {
	if real {
		return "redis-server"
	}
	return "miniredis"
}

// keeping says where everything listens while it is kept.
func (r *burstsResult) keeping() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nAll of it keeps running until Ctrl-C.\n  balancer  %s\n", r.URL)
	for _, i := range r.Instances {
		fmt.Fprintf(&b, "  instance  %s\n", i.URL)
	}
	fmt.Fprintf(&b, "Try:\n  curl -X POST %[1]s/v3/pview\n  curl %[1]s/pview\n  curl -X POST %[1]s/orders\n  curl -X POST '%[1]s/v3/orders/%[2]d/grab?driver=12'\n  curl %[1]s/orders/%[2]d\n  curl %[1]s/readyz\n  open %[1]s/ in a browser\n",
		r.URL, r.Order[len(r.Order)-1].Order+1)
	return b.String()
}
