package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims"
	"locklab/lab/doctor"
	"locklab/lab/live"
	"locklab/lab/servers"
	"locklab/versions"
)

type labServeCommand struct {
	Listen       string `default:"127.0.0.1:8070" env:"LAB_PAGE" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free port. Must be a loopback address unless --class or --address is set."`
	Class        bool   `help:"Open the page to a class: participants can guess, but only the trainer can start runs."`
	TrainerToken string `env:"LAB_TRAINER_TOKEN" placeholder:"SECRET" help:"Trainer token, at least 16 characters (default: a random token, which is printed)."`
	Address      string `env:"LAB_ADDRESS" placeholder:"ADDRESS" help:"Address at which browsers reach the page, if it differs from --listen, such as that of a proxy: HOST:PORT, or https://lab.example. Without --class it must be a loopback address, and you must make sure that only a proxy on this machine can reach --listen."`
	URL          string `env:"LAB_URL" placeholder:"URL" help:"URL of the balancer in front of running instances to send bursts to (default: start two instances)."`
	AdminToken   string `env:"LAB_ADMIN_TOKEN" placeholder:"SECRET" help:"Token that the instances at --url require to reset the counter (default: none)."`
	Out          string `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder to save runs in."`
	Topology     string `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Redis topology of the instances that it starts: ${enum}. All but single need a real redis-server."`
	Cut          bool   `help:"Put a proxy in front of each Redis server, so that the page can cut it off (not in a cluster). The proxy changes how many views v1 and v2 lose."`
	Embedded     bool   `help:"Use the embedded miniredis even if redis-server is installed; other servers stay real."`
	Browser      bool   `default:"true" negatable:"" help:"Open your browser if there is a screen; --no-browser prevents that."`
}

// minTokenLength is the number of characters that nobody in a class will guess.
const minTokenLength = 16

func (c *labServeCommand) validate() error {
	if err := validateAddress("--listen", c.Listen); err != nil {
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
		return usageErrorf("--out is empty; set it to a folder for the saved runs")
	}
	return nil
}

// validateReach rejects addresses at which anyone on the network could start runs.
func (c *labServeCommand) validateReach() error {
	reach := c.Listen
	if c.Address != "" {
		origin, err := parseOrigin("--address", c.Address)
		if err != nil {
			return err
		}
		c.Address, reach = origin.String(), net.JoinHostPort(origin.Hostname(), origin.Port())
	}
	switch {
	case c.TrainerToken != "" && !c.Class:
		return usageErrorf("--trainer-token needs --class; add --class, or drop the token")
	case c.TrainerToken != "" && len(c.TrainerToken) < minTokenLength:
		return usageErrorf("--trainer-token has %d characters; use at least %d, or drop it to get a random token",
			len(c.TrainerToken), minTokenLength)
	case !c.Class && !isLoopback(reach):
		return usageErrorf("other machines can reach the page at %s, and anyone who opens it can start runs; "+
			"add --class, or use a loopback address such as 127.0.0.1:8070", cmp.Or(c.Address, reach))
	}
	return nil
}

// parseOrigin returns an address of the page as browsers write an origin: without the port that its scheme has anyway. A host:port is that
// of HTTP, unless the port is 443.
func parseOrigin(setting, given string) (*url.URL, error) {
	text := strings.ToLower(strings.TrimSuffix(given, "/"))
	if !strings.Contains(text, "://") && validateAddress(setting, text) == nil {
		text = map[bool]string{false: "http://", true: "https://"}[strings.HasSuffix(text, ":443")] + text
	}
	origin, err := url.Parse(text)
	usual := map[string]string{"http": "80", "https": "443"}
	if err != nil || usual[origin.Scheme] == "" || origin.Hostname() == "" || text != origin.Scheme+"://"+origin.Host ||
		strings.HasSuffix(text, ":") || origin.Port() != "" && validateAddress(setting, origin.Host) != nil {
		return nil, usageErrorf("%s is %q; must be host:port with a port up to 65535, or https://lab.example, without a path", setting, given)
	}
	origin.Host = strings.TrimSuffix(origin.Host, ":"+usual[origin.Scheme])
	return origin, nil
}

func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// pageThink is how long a driver waits between reading and writing an order in a burst of the page, as in the demo.
const pageThink = 100 * time.Millisecond

// runnableVersions returns the versions that can run here.
func runnableVersions() []string {
	return slices.DeleteFunc(versions.Names(), func(name string) bool {
		v, _ := versions.Find(name)
		return missingServer(v) != nil
	})
}

// ownInstances returns a function that starts two instances of program. It passes their stack, which must be closed at the end, to keep.
func (c *labServeCommand) ownInstances(program string, keep func(*servers.Stack)) startFunc {
	service := burst.Service{
		App: []string{program, "serve"}, Topology: c.Topology, Real: servers.RealRedis() && !c.Embedded,
		Servers: versions.RequiredServers(runnableVersions()...),
		Proxied: c.Cut && c.Topology != "cluster", Instances: 2, Named: true, Think: pageThink, Listen: "127.0.0.1:0",
	}
	return func(ctx context.Context, tell func(string)) (burst.Running, error) {
		ctx, cancel := context.WithTimeout(ctx, stackStartTimeout)
		defer cancel()
		s, err := servers.New()
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

// remoteInstances returns the instances at --url if they answer.
func (c *labServeCommand) remoteInstances(ctx context.Context, tell func(string)) (burst.Running, error) {
	tell("connecting to the instances at " + c.URL)
	target := burst.Target{URL: c.URL, AdminToken: c.AdminToken}
	_, err := fetchHealth(ctx, target)
	return burst.Running{Target: target}, err
}

// newClass returns the class if --class is set, and nil otherwise. A page that listens on addr then has an address for participants.
func (c *labServeCommand) newClass(addr net.Addr) *live.Class {
	if !c.Class {
		return nil
	}
	c.Address = cmp.Or(c.Address, "http://"+lanAddr(addr))
	return &live.Class{Token: cmp.Or(c.TrainerToken, rand.Text())}
}

// lanAddr returns the address at which other machines reach a server that listens on addr, if this machine has one.
func lanAddr(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	host := cmp.Or(slices.Concat(doctor.LANAddresses(), []string{"127.0.0.1"})...)
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// startFunc starts or finds the instances that bursts go to: see [live.Config].
type startFunc = func(ctx context.Context, tell func(what string)) (burst.Running, error)

// newPage returns a live page that gets its instances from start.
func (c *labServeCommand) newPage(ctx context.Context, class *live.Class, start startFunc) (*live.Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, unavailable(err)
	}
	pace, err := lab.MeasurePace(ctx)
	if err != nil {
		return nil, err
	}
	run := labRunCommand{Out: c.Out, Embedded: c.Embedded} // the page runs experiments as app lab run does
	var runnable []string
	if c.URL == "" {
		runnable = runnableVersions()
	}
	return live.New(ctx, live.Config{
		Catalogue: claims.All(), Subject: claims.Group, Store: c.Out, Program: self(), Class: class, Address: c.Address,
		Options: lab.Options{Real: servers.RealRedis() && !c.Embedded, App: []string{program, "serve"}, Build: build(), Pace: pace},
		Command: run.reproduceOne, StepCommand: stepCommand, Service: start,
		Remote: c.URL != "", Versions: runnable,
	})
}

// Run serves the live page until ctx ends.
func (c *labServeCommand) Run(ctx context.Context, std streams) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	if err := lab.Probe(c.Out); err != nil {
		return unavailable(err)
	}
	warnOldRedis(std.say, c.Embedded)
	program, err := os.Executable()
	if err != nil {
		return unavailable(err)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w; use another port, or 0 for a free one", c.Listen, err))
	}
	defer listener.Close()
	var kept *servers.Stack
	defer func() {
		if kept != nil {
			err = errors.Join(err, kept.Close())
		}
	}()
	origin := cmp.Or(c.Address, "http://"+localAddr(listener.Addr().String()))
	class, start := c.newClass(listener.Addr()), c.ownInstances(program, func(s *servers.Stack) { kept = s })
	if c.URL != "" {
		start = c.remoteInstances
	}
	page, err := c.newPage(ctx, class, start)
	if err := commandError(ctx, err, "the server did not start"); err != nil {
		return err
	}
	printAddresses(std, origin, c.Address, class)
	c.sayMore(std, origin, localAddr(listener.Addr().String()), page.Participants())
	if c.Browser {
		openBrowser(ctx, std, origin+map[bool]string{false: "/ui/", true: "/ui/trainer"}[class != nil])
	}
	context.AfterFunc(ctx, func() { std.say("Stopping the page and the servers that it started. Saved runs are in " + c.Out + ".") })
	return servePage(ctx, listener, page)
}

// sayMore says where a proxy must lead, and that a class goes on which an earlier program has begun.
func (c *labServeCommand) sayMore(std streams, origin, listens string, participants int) {
	if origin != "http://"+listens {
		std.say("A proxy must lead there: the page listens at " + listens + ".")
	}
	if participants > 0 {
		std.say(fmt.Sprintf("A class of %d goes on, which %s has kept. Begin a new one at %s/ui/class.", participants, c.Out, origin))
	}
}

// printAddresses prints where this machine's browser reaches the page, and where a class does.
func printAddresses(std streams, here, everywhere string, class *live.Class) {
	fmt.Fprintf(std.out, "Live page:     %s/ui/\n", here)
	if class != nil {
		fmt.Fprintf(std.out, "Participants:  %[1]s/ui/join\nTrainer:       %[1]s/ui/trainer\nTrainer token: %[2]s\n", everywhere, class.Token)
	}
	fmt.Fprintln(std.out, "Stop it with Ctrl-C.")
}

// servePage serves page until ctx ends. It returns when everything that the page started has ended.
func servePage(ctx context.Context, listener net.Listener, page *live.Server) error {
	server := &http.Server{Handler: page.Handler(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return unavailable(err)
	}
	page.Wait()
	return nil
}
