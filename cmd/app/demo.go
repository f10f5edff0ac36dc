package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/progress"
	"locklab/report/terminal"
	"locklab/stack"
	"locklab/versions"
	"locklab/web"
)

type demoCommand struct {
	bursts
	Topology  string        `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Topology of Redis: ${enum}; all but single need a real redis-server."`
	Think     time.Duration `default:"100ms" help:"Time a driver thinks between reading and writing the order."`
	Instances int           `default:"2" placeholder:"N" help:"Number of instances, from 2 to 32."`
	Listen    string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Address of the balancer; port 0 takes a free one."`
	Keep      bool          `help:"Keep everything running afterwards, until Ctrl-C."`
	Embedded  bool          `help:"Use miniredis although a redis-server is there."`
}

// startWithin bounds the start of everything, a cluster too.
const startWithin = time.Minute

// demoNext is what can be tried next on this machine.
func demoNext() string {
	next := fmt.Sprintf("Next:    %s demo --keep                everything stays up, with curl lines to try\n", self())
	if stack.RealRedis() {
		next += fmt.Sprintf("         %s demo --topology cluster    the same over six Redis servers\n", self())
	}
	return next
}

func (c *demoCommand) validate() error {
	if err := cmp.Or(
		c.bursts.validate(), within("--think", c.Think, 0, 10*time.Second), c.eachGetsOne(c.Instances),
	); err != nil {
		return err
	}
	if c.Topology != "single" && c.Embedded {
		return misuse("--embedded is given with --topology %s; miniredis has single only: drop one of the two", c.Topology)
	}
	if err := stack.RedisServer.Missing(); err != nil && c.Topology != "single" {
		return unavailable(fmt.Errorf("--topology %s needs a real redis-server: %w", c.Topology, err))
	}
	return address("--listen", c.Listen)
}

// tellOldRedis names a redis-server that is too old, unless the user wants miniredis anyway.
func tellOldRedis(say func(string), embedded bool) {
	if err := stack.RedisServer.TooOld(); err != nil && !embedded {
		say(fmt.Sprintf("%v. miniredis takes its place.", err))
	}
}

// runsNow says why a version cannot run here without a build, which takes minutes.
func runsNow(v versions.Version) error {
	err := stack.Missing(string(v.Needs))
	if err == nil && v.Needs == versions.Etcd && !stack.EtcdIsThere() {
		err = fmt.Errorf("etcd is missing (%s), and demo --versions %s builds one", stack.EtcdServer.Install(), v.Name)
	}
	return err
}

// prepare chooses the versions. All of them are those that run without a build. For v7 by its name, an etcd is built where there is none.
func (c *demoCommand) prepare(ctx context.Context, std streams) (leftOut []string, err error) {
	if slices.Equal(c.Versions, []string{allVersions}) {
		return c.choose(runsNow)
	}
	leftOut, err = c.choose(func(v versions.Version) error { return stack.Missing(string(v.Needs)) })
	if err == nil && slices.Contains(versions.Needs(c.Versions...), versions.Etcd) {
		if err = preparedEtcd(ctx, std.say); err != nil {
			err = unavailable(err)
		}
	}
	return leftOut, err
}

// Run starts the stack, runs every version, prints what was left, and stops the stack.
func (c *demoCommand) Run(ctx context.Context, std streams) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	tellOldRedis(std.say, c.Embedded)
	leftOut, err := c.prepare(ctx, std)
	if err != nil {
		return err
	}
	tell := progress.New(std.err)
	s, err := stack.New()
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		tell.Say("stopping")
		err = errors.Join(err, s.Close())
		tell.Done()
	}()
	running, result, err := c.startAndPlay(ctx, s, tell)
	tell.Done()
	if err := stopped(ctx, err, "nothing is judged"); err != nil {
		return err
	}
	result.LeftOut = leftOut
	keep := func() {}
	if c.Keep {
		page, err := c.page(ctx, running)
		if err != nil {
			return err
		}
		keep = func() {
			keeping(std.err, result, page != nil)
			<-ctx.Done()
			if page != nil {
				page.Wait()
			}
		}
	}
	return c.finish(result, std, demoNext(), keep)
}

// startAndPlay starts the servers, the instances of this very binary and the balancer, and sends the bursts. An error means that they were
// not all sent.
func (c *demoCommand) startAndPlay(
	ctx context.Context, s *stack.Stack, tell *progress.Line,
) (running burst.Running, result *burst.Results, err error) {
	began := time.Now()
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return running, nil, err
	}
	service := burst.Service{
		App: []string{self, "serve"}, Topology: c.Topology, Real: stack.RealRedis() && !c.Embedded,
		Servers: versions.Needs(slices.Concat(versions.Defaults(), c.Versions)...), Instances: c.Instances, Think: c.Think, Listen: c.Listen,
	}
	redis := "miniredis"
	if service.Real {
		redis = "redis-server"
	}
	running, err = service.Start(starting, s, func(step string) { tell.Say(fmt.Sprintf("%s (%s, %s)", step, c.Topology, redis)) })
	if err != nil {
		return running, nil, err
	}
	plan := c.plan()
	plan.Instances = c.Instances
	result, err = plan.Run(ctx, running.Target, terminal.TellBursts(tell))
	if err != nil {
		return running, nil, err
	}
	result.Topology, result.Redis, result.TookMS = c.Topology, redis, time.Since(began).Milliseconds()
	for _, i := range running.Instances {
		result.Instances = append(result.Instances, burst.Instance{Name: i.Name, URL: i.URL})
	}
	return running, result, nil
}

// defaultStore is where commands save runs unless a flag says otherwise.
const defaultStore = "store"

// page puts the live page before the instances, at /ui/ of the balancer. It returns nil when other machines reach the balancer, because
// everybody who reaches the page can start runs.
func (c *demoCommand) page(ctx context.Context, running burst.Running) (*web.Server, error) {
	if !isLoopback(c.Listen) {
		return nil, nil
	}
	lab := labServeCommand{Out: defaultStore, Embedded: c.Embedded}
	page, err := lab.page(ctx, nil, func(context.Context, func(string)) (burst.Running, error) { return running, nil })
	if err := stopped(ctx, err, "nothing is kept"); err != nil {
		return nil, err
	}
	running.Balancer.Handle("/ui/", page.Handler())
	return page, nil
}

// keeping says where everything listens while it is kept.
func keeping(to io.Writer, r *burst.Results, page bool) {
	fmt.Fprintf(to, "\nAll of it keeps running until Ctrl-C.\n  balancer  %s\n", r.URL)
	if page {
		fmt.Fprintf(to, "  live page %s/ui/\n", r.URL)
	}
	for _, i := range r.Instances {
		fmt.Fprintf(to, "  instance  %s\n", i.URL)
	}
	fmt.Fprintf(to, `Try:
  curl -X POST %[1]s/v3/pview
  curl %[1]s/pview
  curl -X POST %[1]s/orders
  curl -X POST '%[1]s/v3/orders/%[2]d/grab?driver=12'
  curl %[1]s/orders/%[2]d
  curl %[1]s/readyz
  open %[1]s/ in a browser
`, r.URL, r.Order[len(r.Order)-1].Order+1)
}
