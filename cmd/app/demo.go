package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/internal/progress"
	"locklab/lab/burst"
	"locklab/lab/live"
	"locklab/lab/report/terminal"
	"locklab/lab/servers"
	"locklab/versions"
)

type demoCommand struct {
	Users    int      `default:"666" placeholder:"N" help:"Number of simultaneous page views. Must be even."`
	Versions []string `default:"${versions}" enum:"${allVersions},all" placeholder:"vN" help:"Versions to send requests to, or all for every version that can run."`
	burstFlags
	Topology  string        `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Redis topology: ${enum}. All but single need a real redis-server."`
	Think     time.Duration `default:"100ms" help:"Time a driver waits between reading and writing the order."`
	Instances int           `default:"2" placeholder:"N" help:"Number of instances, from 2 to 32."`
	Listen    string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Address for the load balancer to listen on; port 0 picks a free port."`
	Keep      bool          `help:"Keep everything running until Ctrl-C."`
	Embedded  bool          `help:"Use the embedded miniredis even if redis-server is installed; other servers stay real."`
}

// stackStartTimeout is long enough to start a Redis Cluster.
const stackStartTimeout = time.Minute

// demoNext returns what to try next: what this demo did not do, and a cluster only if this machine has redis-server.
func (c *demoCommand) demoNext() string {
	var lines []string
	if !c.Keep {
		lines = append(lines, fmt.Sprintf("%s demo --keep                everything stays up, with curl lines to try\n", self()))
	}
	if servers.RealRedis() && c.Topology != "cluster" {
		lines = append(lines, fmt.Sprintf("%s demo --topology cluster    the same over six Redis servers\n", self()))
	}
	if len(lines) == 0 {
		return ""
	}
	return "Next:    " + strings.Join(lines, "         ")
}

func (c *demoCommand) validate() error {
	plan := c.plan(c.Users, c.Versions, c.Instances)
	if err := cmp.Or(
		validatePlan(plan), validateRange("--think", c.Think, 0, 10*time.Second), validateInstances(plan),
	); err != nil {
		return err
	}
	if c.Topology != "single" && c.Embedded {
		return usageErrorf("--embedded does not work with --topology %s, because miniredis supports only single; drop one of the two", c.Topology)
	}
	if err := servers.RedisServer.Missing(); err != nil && c.Topology != "single" {
		return unavailable(fmt.Errorf("--topology %s needs a real redis-server: %w", c.Topology, err))
	}
	if err := validateAddress("--listen", c.Listen); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen) // before the servers start
	if err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w; use another port, or 0 for a free one", c.Listen, err))
	}
	return listener.Close()
}

// warnOldRedis warns about a redis-server that is too old to be used, unless the user chose miniredis anyway.
func warnOldRedis(say func(string), embedded bool) {
	if err := servers.RedisServer.TooOld(); err != nil && !embedded {
		say(fmt.Sprintf("%v. Using miniredis instead.", err))
	}
}

// missingServer returns why v cannot run here.
func missingServer(v versions.Version) error { return servers.Missing(v.Server()) }

// Run starts the servers and instances, sends the bursts, prints and judges the results, and stops everything.
func (c *demoCommand) Run(ctx context.Context, std streams) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	warnOldRedis(std.say, c.Embedded)
	var leftOut []string
	c.Versions, leftOut, err = chooseVersions(c.Versions, missingServer)
	if err != nil {
		return err
	}
	tell := progress.New(std.err)
	s, err := servers.New()
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		tell.Say("stopping")
		err = errors.Join(err, s.Close())
		tell.Done()
	}()
	running, result, err := c.startAndSend(ctx, s, tell)
	tell.Done()
	if err := commandError(ctx, err, "nothing was judged"); err != nil {
		return err
	}
	result.LeftOut = leftOut
	keep := func() {}
	if c.Keep {
		page, err := c.mountPage(ctx, running)
		if err != nil {
			return err
		}
		keep = func() {
			printKept(std.err, result, page != nil)
			<-ctx.Done()
			if page != nil {
				page.Wait()
			}
		}
	}
	return c.finish(result, std, c.demoNext(), keep)
}

// startAndSend starts the servers, the balancer, and instances of this binary, and sends the bursts. It fails unless all bursts were sent.
func (c *demoCommand) startAndSend(
	ctx context.Context, s *servers.Stack, tell *progress.Line,
) (running burst.Running, result *burst.Results, err error) {
	began := time.Now()
	startCtx, cancel := context.WithTimeout(ctx, stackStartTimeout)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return running, nil, err
	}
	service := burst.Service{
		App: []string{self, "serve"}, Topology: c.Topology, Real: servers.RealRedis() && !c.Embedded,
		Servers:   versions.RequiredServers(slices.Concat(versions.DefaultNames(), c.Versions)...),
		Instances: c.Instances, Think: c.Think, Listen: c.Listen,
	}
	redis := "miniredis"
	if service.Real {
		redis = "redis-server"
	}
	running, err = service.Start(startCtx, s, func(step string) { tell.Say(fmt.Sprintf("%s (%s, %s)", step, c.Topology, redis)) })
	if err != nil {
		return running, nil, err
	}
	result, err = c.plan(c.Users, c.Versions, c.Instances).Run(ctx, running.Target, burst.App{}, terminal.TellBursts(tell))
	if err != nil {
		return running, nil, err
	}
	result.Topology, result.Redis, result.TookMS = c.Topology, redis, time.Since(began).Milliseconds()
	for _, i := range running.Instances {
		result.Instances = append(result.Instances, burst.Instance{Name: i.Name, URL: i.URL})
	}
	return running, result, nil
}

// defaultStore is the folder in which the live page of a demo saves its runs.
const defaultStore = "store"

// mountPage serves the live page at /ui/ of the balancer. It returns nil if other machines can reach the balancer, because anyone who can
// open the page can start runs.
func (c *demoCommand) mountPage(ctx context.Context, running burst.Running) (*live.Server, error) {
	if !isLoopback(c.Listen) {
		return nil, nil
	}
	lab := labServeCommand{Out: defaultStore, Embedded: c.Embedded}
	page, err := lab.newPage(ctx, nil, func(context.Context, func(string)) (burst.Running, error) { return running, nil })
	if err := commandError(ctx, err, "nothing was kept"); err != nil {
		return nil, err
	}
	running.Balancer.Handle("/ui/", page.Handler())
	return page, nil
}

// printKept prints where everything listens, and commands to try, with v3 if it ran.
func printKept(to io.Writer, r *burst.Results, hasPage bool) {
	fmt.Fprintf(to, "\nEverything keeps running until Ctrl-C.\n  balancer  %s\n", r.URL)
	if hasPage {
		fmt.Fprintf(to, "  live page %s/ui/\n", r.URL)
	}
	for _, i := range r.Instances {
		fmt.Fprintf(to, "  instance  %s\n", i.URL)
	}
	version := r.Pageview[len(r.Pageview)-1].Version
	if slices.ContainsFunc(r.Pageview, func(row burst.PageviewRow) bool { return row.Version == "v3" }) {
		version = "v3"
	}
	fmt.Fprintf(to, `Try:
  curl -X POST %[1]s/%[3]s/pview
  curl %[1]s/pview
  curl -X POST %[1]s/orders
  curl -X POST '%[1]s/%[3]s/orders/%[2]d/grab?driver=12'
  curl %[1]s/orders/%[2]d
  curl %[1]s/readyz
  open %[1]s/ in a browser
`, r.URL, r.Order[len(r.Order)-1].Order+1, version)
}
