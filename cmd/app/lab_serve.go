package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/claims"
	"locklab/stack"
	"locklab/versions"
	"locklab/web"
)

type labServeCommand struct {
	Listen       string `default:"127.0.0.1:8070" env:"LAB_PAGE" placeholder:"HOST:PORT" help:"Address of the page; port 0 takes a free one. Without --class and --address it must be a loopback address."`
	Class        bool   `help:"Let a class open the page: participants guess, and only the trainer starts runs."`
	TrainerToken string `env:"LAB_TRAINER_TOKEN" placeholder:"SECRET" help:"Token of the trainer, of at least 16 characters (default: a new one, which is printed)."`
	Address      string `env:"LAB_ADDRESS" placeholder:"HOST:PORT" help:"Address at which browsers reach the page, if it is not --listen: that of a proxy, or what participants type. Without --class it must be a loopback address; you then promise that only a proxy of this machine reaches --listen."`
	URL          string `env:"LAB_URL" placeholder:"URL" help:"Send bursts to instances that run already: the address of their balancer (default: two instances of its own)."`
	AdminToken   string `env:"LAB_ADMIN_TOKEN" placeholder:"SECRET" help:"Token that the instances at --url require for a reset of the counter (default: none)."`
	Out          string `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder for the saved runs."`
	Topology     string `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Topology of Redis behind the instances that bursts go to: ${enum}; all but single need a real redis-server."`
	Cut          bool   `help:"Put a proxy before each Redis server, so that the page can cut it off (not in a cluster). The proxy changes how many views v1 and v2 lose."`
	Embedded     bool   `help:"Use miniredis although a redis-server is there."`
	Browser      bool   `default:"true" negatable:"" help:"Open the page in a browser, if there is a screen; --no-browser does not."`
}

// shortestToken is what nobody tries in a class, in characters.
const shortestToken = 16

func (c *labServeCommand) validate() error {
	if err := address("--listen", c.Listen); err != nil {
		return err
	}
	if err := c.validateReach(); err != nil {
		return err
	}
	if c.URL != "" {
		base, err := baseURL("--url", c.URL)
		if err != nil {
			return err
		}
		c.URL = base
	}
	if c.Out == "" {
		return misuse("--out is empty; name a folder for the saved runs")
	}
	return nil
}

// validateReach checks that not everybody can start runs.
func (c *labServeCommand) validateReach() error {
	if c.Address != "" {
		if err := address("--address", c.Address); err != nil {
			return err
		}
	}
	switch reach := cmp.Or(c.Address, c.Listen); {
	case c.TrainerToken != "" && !c.Class:
		return misuse("--trainer-token is given without --class; add --class, or drop the token")
	case c.TrainerToken != "" && len(c.TrainerToken) < shortestToken:
		return misuse("--trainer-token has %d characters; take at least %d, or drop it and take the one that is printed",
			len(c.TrainerToken), shortestToken)
	case !c.Class && !isLoopback(reach):
		return misuse("others reach the page at %s, and everybody who reaches it can start runs; add --class, or take an address of this "+
			"machine only, as 127.0.0.1:8070", reach)
	}
	return nil
}

func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// missing says why an experiment cannot run here; nil: it can.
func (c *labServeCommand) missing(e experiments.Experiment) error {
	one := []experiments.Experiment{e}
	if c.Embedded {
		_, _, err := selection{IDs: []string{e.ID}}.embedded(one)
		return err
	}
	return experiments.Missing(one)
}

// servedThink is how long a driver thinks in a burst of the page, as in the demo.
const servedThink = 100 * time.Millisecond

// ableVersions are those that can run here without a build.
func ableVersions() []string {
	return slices.DeleteFunc(versions.Names(), func(name string) bool {
		v, _ := versions.Find(name)
		return runsNow(v) != nil
	})
}

// service starts what bursts go to: two instances of this very program. keep gets what is to be closed at the end.
func (c *labServeCommand) service(program string, keep func(*stack.Stack)) service {
	service := burst.Service{
		App: []string{program, "serve"}, Topology: c.Topology, Real: stack.RealRedis() && !c.Embedded, Servers: versions.Needs(ableVersions()...),
		Proxied: c.Cut && c.Topology != "cluster", Instances: 2, Named: true, Think: servedThink, Listen: "127.0.0.1:0",
	}
	return func(ctx context.Context, tell func(string)) (burst.Running, error) {
		ctx, cancel := context.WithTimeout(ctx, startWithin)
		defer cancel()
		s, err := stack.New()
		if err != nil {
			return burst.Running{}, err
		}
		running, err := service.Start(ctx, s, tell)
		if err != nil {
			return running, errors.Join(err, s.Close())
		}
		keep(s)
		return running, nil
	}
}

// reached returns the instances at --url, if they answer.
func (c *labServeCommand) reached(ctx context.Context, tell func(string)) (burst.Running, error) {
	tell("asking the instances at " + c.URL)
	target := burst.Target{URL: c.URL, AdminToken: c.AdminToken}
	_, err := askHealth(ctx, target)
	return burst.Running{Target: target}, err
}

// class is the class that the flags ask for; nil: there is none. listens is the address of the page.
func (c *labServeCommand) class(listens net.Addr) *web.Class {
	if !c.Class {
		return nil
	}
	return &web.Class{Token: cmp.Or(c.TrainerToken, rand.Text()), Address: cmp.Or(c.Address, reachable(listens))}
}

// reachable is an address by which another machine reaches listens, if this machine has one.
func reachable(listens net.Addr) string {
	tcp, ok := listens.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return listens.String()
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return net.JoinHostPort(ip.IP.String(), strconv.Itoa(tcp.Port))
		}
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// service is what a page needs for bursts: see [web.Config].
type service = func(ctx context.Context, tell func(what string)) (burst.Running, error)

// page is a live page whose bursts go to service.
func (c *labServeCommand) page(ctx context.Context, class *web.Class, service service) (*web.Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, unavailable(err)
	}
	pace, err := experiments.MeasurePace(ctx)
	if err != nil {
		return nil, err
	}
	run := labRunCommand{Out: c.Out, Embedded: c.Embedded} // the page runs what app lab run would
	var able []string
	if c.URL == "" {
		able = ableVersions()
	}
	return web.New(ctx, web.Config{
		Catalogue: claims.All(), Store: c.Out, Program: self(), Class: class,
		Options: experiments.Options{Real: stack.RealRedis() && !c.Embedded, App: []string{program, "serve"}, Build: build(), Pace: pace},
		Missing: c.missing, Command: run.reproduceOne, StepCommand: stepCommand, Service: service,
		Remote: c.URL != "", Versions: able,
		Prepare: func(ctx context.Context, e experiments.Experiment, tell func(what string)) {
			_ = run.prepare(ctx, []experiments.Experiment{e}, tell) // without etcd a variant shows nothing, and says why
		},
	})
}

// Run serves the live page until ctx ends.
func (c *labServeCommand) Run(ctx context.Context, std streams) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	if err := experiments.Probe(c.Out); err != nil {
		return unavailable(err)
	}
	tellOldRedis(std.say, c.Embedded)
	program, err := os.Executable()
	if err != nil {
		return unavailable(err)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w; name another port, or 0 for a free one", c.Listen, err))
	}
	defer listener.Close()
	var kept *stack.Stack
	defer func() {
		if kept != nil {
			err = errors.Join(err, kept.Close())
		}
	}()
	class, service := c.class(listener.Addr()), c.service(program, func(s *stack.Stack) { kept = s })
	if c.URL != "" {
		service = c.reached
	}
	page, err := c.page(ctx, class, service)
	if err := stopped(ctx, err, "it did not serve"); err != nil {
		return err
	}
	at := cmp.Or(c.Address, onThisMachine(listener.Addr().String()))
	c.announce(std, at, class)
	if c.Browser {
		openBrowser(ctx, std, "http://"+at+map[bool]string{false: "/ui/", true: "/ui/trainer"}[class != nil])
	}
	context.AfterFunc(ctx, func() { std.say("The page ends, and the servers that it started. Saved runs are in " + c.Out + ".") })
	return serve(ctx, listener, page)
}

// announce says where the page is.
func (c *labServeCommand) announce(std streams, addr string, class *web.Class) {
	fmt.Fprintf(std.out, "The live page: http://%s/ui/\n", addr)
	if class != nil {
		fmt.Fprintf(std.out, "Participants:  http://%s/ui/join\nThe trainer:   http://%s/ui/trainer\nIts token:     %s\n",
			class.Address, class.Address, class.Token)
	}
	fmt.Fprintln(std.out, "It runs until Ctrl-C.")
}

// serve serves page until ctx ends, and what the page has started has ended.
func serve(ctx context.Context, listener net.Listener, page *web.Server) error {
	server := &http.Server{Handler: page.Handler(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return unavailable(err)
	}
	page.Wait()
	return nil
}
