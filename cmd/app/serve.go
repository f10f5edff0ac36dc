package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/internal/database"
	"locklab/lockstrategy"
	"locklab/lockstrategy/preflight"
	"locklab/order"
	"locklab/pview"
	"locklab/systems/cache/variants"
	"locklab/systems/shop"
	"locklab/topology"
	"locklab/versions"
)

// serveCommand runs one instance of the service.
type serveCommand struct {
	Listen         string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free port. The default is reachable from this machine only."`
	Instance       string        `placeholder:"NAME" help:"Name of this instance in every response (default: its port, as in the article)."`
	Topology       string        `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Redis topology: ${enum}."`
	Redis          []string      `default:"127.0.0.1:6379" placeholder:"HOST:PORT" help:"Redis addresses: the server (single), all nodes in any order (master-slave), the sentinels (sentinel), or some of the nodes (cluster). Or URLs: redis://USER:PASSWORD@HOST:PORT, and rediss:// for TLS."`
	SentinelMaster string        `default:"lab" placeholder:"NAME" help:"Name of the master that the sentinels monitor."`
	RedisUser      string        `placeholder:"NAME" help:"User of all Redis servers whose URL has none (default: the user called default)."`
	RedisPassword  string        `placeholder:"SECRET" help:"Password of all Redis servers whose URL has none. Sentinels do not get it: their URLs have theirs (default: none)."`
	AddrMap        []string      `placeholder:"FROM=TO" help:"Addresses to dial instead of those that Redis announces, such as 10.66.6.0/24=127.0.0.1 to reach containers from their host (default: as announced)."`
	Redlock        []string      `placeholder:"HOST:PORT" help:"Addresses or URLs of the independent RedLock nodes, at least three; article A4 uses five. Required for v4 (default: none)."`
	Database       string        `default:"sqlite:locklab.db" placeholder:"sqlite:PATH|mysql:DSN" help:"Database for the orders and for the locks of v5. A DSN is user:password@tcp(host:port)/name."`
	Addresses      addressFlags  `embed:""`
	Backends       bool          `default:"true" negatable:"" help:"Use ${backendFlags}; --no-backends ignores them and leaves out ${backendVersions}."`
	Lease          time.Duration `default:"10s" help:"Time until the lock of a dead holder expires. A live holder renews it every third of this time. Keep it shorter than --wait."`
	Request        time.Duration `placeholder:"2s" help:"Timeout of one request to a lock server, except for RedLock nodes. Must be shorter than two thirds of --lease (default: 2s or a third of --lease, whichever is shorter)."`
	NodeTimeout    time.Duration `placeholder:"500ms" help:"Timeout of one request to a RedLock node. Must be shorter than two thirds of --lease (default: 500ms or a third of --lease, whichever is shorter)."`
	Wait           time.Duration `default:"30s" help:"Longest wait for a lock, after which a request gets 503. A client can wait for less with ?wait=, and then gets 423."`
	OrderThink     time.Duration `default:"100ms" help:"Time to wait between reading and writing an order. The article sleeps for 1s."`
	CacheTTL       time.Duration `default:"10s" help:"Lifetime of an item in the caches c0 to c6. Cache c7 refreshes an item at this age."`
	ItemQuery      time.Duration `default:"20ms" help:"Extra time that it takes to load an item from the database."`
	AdminToken     string        `placeholder:"SECRET" help:"Token required to reset data (default: none)."`
	StartTimeout   time.Duration `default:"5s" help:"Longest wait for the servers when the instance starts."`
	LogFormat      string        `default:"text" enum:"text,json" placeholder:"FORMAT" help:"Log format: ${enum}."`
	LogLevel       string        `default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Lowest level to log: ${enum}. At debug, every request is logged."`

	limitFlags
}

const (
	minLease    = 100 * time.Millisecond
	maxDuration = time.Hour
)

// validate returns an error for the first setting that cannot work.
func (c *serveCommand) validate() error {
	return cmp.Or(
		validateAddress("--listen", c.Listen), validateRange("--instance length", len(c.Instance), 0, 64),
		c.validateRedis(), c.validateTopology(), c.validateRedlock(), c.validateDatabase(),
		c.Addresses.validate(),
		validateRange("--lease", c.Lease, minLease, maxDuration), c.validateTimeout("--request", c.Request),
		c.validateTimeout("--node-timeout", c.NodeTimeout), validateRange("--wait", c.Wait, time.Millisecond, maxDuration),
		validateRange("--order-think", c.OrderThink, 0, maxDuration),
		validateRange("--start-timeout", c.StartTimeout, time.Millisecond, maxDuration),
		validateRange("--cache-ttl", c.CacheTTL, 10*time.Millisecond, maxDuration), validateRange("--item-query", c.ItemQuery, 0, maxDuration),
		c.limitFlags.validate(),
	)
}

// validateTimeout checks that a renewal that gets no answer can be repeated before the lease expires.
func (c *serveCommand) validateTimeout(flag string, timeout time.Duration) error {
	if timeout < 0 || timeout >= 2*c.Lease/3 {
		return usageErrorf("%s is %s; must be shorter than two thirds of --lease, which is %s", flag, timeout, c.Lease)
	}
	return nil
}

func (c *serveCommand) validateRedis() error {
	if c.RedisUser != "" && c.RedisPassword == "" {
		return usageErrorf("--redis-user needs --redis-password")
	}
	return validateServers("--redis", c.redisConfig(topology.Access{User: c.RedisUser, Password: c.RedisPassword}))
}

func (c *serveCommand) validateTopology() error {
	if c.Topology == string(topology.Single) && len(c.Redis) != 1 {
		return usageErrorf("--redis has %d addresses; must be one for --topology single", len(c.Redis))
	}
	if _, err := topology.ParseAddrMap(c.AddrMap); err != nil {
		return usageErrorf("--addr-map: %w", err)
	}
	if c.SentinelMaster == "" {
		return usageErrorf("--sentinel-master is empty; must be the name of the master that the sentinels monitor")
	}
	return nil
}

func (c *serveCommand) validateRedlock() error {
	if len(c.Redlock) == 0 {
		return nil
	}
	if len(c.Redlock) < 3 {
		return usageErrorf("--redlock has %d addresses; needs at least 3 so that a majority survives the loss of one; articles A2 and A4 use 5",
			len(c.Redlock))
	}
	if err := validateServers("--redlock", topology.Config{Addrs: c.Redlock}); err != nil {
		return err
	}
	nodes, _ := topology.Config{Addrs: c.Redlock}.HostPorts()
	others, _ := topology.Config{Addrs: c.Redis}.HostPorts()
	for _, a := range nodes {
		for _, b := range others {
			if sameServer(a, b) {
				return usageErrorf("--redlock has %s, which is also in --redis as %s; RedLock needs separate servers", a, b)
			}
		}
	}
	return nil
}

// sameServer reports whether two addresses are the same, as localhost:1 and 127.0.0.1:1 are. It resolves no names.
func sameServer(a, b string) bool {
	_, portA, _ := net.SplitHostPort(a)
	_, portB, _ := net.SplitHostPort(b)
	return a == b || portA == portB && isLoopback(a) && isLoopback(b)
}

func (c *serveCommand) validateDatabase() error {
	if err := database.Validate(c.Database); err != nil {
		return usageErrorf("--database is %w", err)
	}
	return nil
}

func (c *serveCommand) newLogger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // cannot fail: the enum of the flag has slog's own names
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: !wantsColour(w)}))
}

// validateServers checks addresses and URLs of Redis servers. No error has a password.
func validateServers(flag string, cfg topology.Config) error {
	addrs, err := cfg.HostPorts()
	if err != nil {
		return usageErrorf("%s: %w", flag, err)
	}
	return validateAddresses(flag, addrs)
}

// validateAddresses rejects malformed addresses and duplicates. Article A2 passes one RedLock node twice, so its three addresses are only
// two nodes.
func validateAddresses(flag string, list []string) error {
	if len(list) == 0 {
		return usageErrorf("%s is empty; give it at least one host:port", flag)
	}
	for i, a := range list {
		if err := validateAddress(flag, a); err != nil {
			return err
		}
		for _, b := range list[:i] {
			if sameServer(a, b) {
				return usageErrorf("%s has the same server twice, as %s and %s; give each server once", flag, b, a)
			}
		}
	}
	return nil
}

func validateAddress(flag, text string) error {
	if scheme, _, isURL := strings.Cut(text, "://"); isURL {
		return usageErrorf("%s has %q; must be host:port, such as 127.0.0.1:2379, without %s://", flag, text, scheme)
	}
	_, port, err := net.SplitHostPort(text)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 && flag != "--listen" {
		return usageErrorf("%s is %q; must be host:port with a port up to 65535", flag, text)
	}
	return nil
}

// Run serves until ctx ends, and then finishes the requests in progress.
func (c *serveCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	log := c.newLogger(std.err)
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w", c.Listen, err))
	}
	defer listener.Close()
	if c.Instance == "" {
		_, c.Instance, _ = net.SplitHostPort(listener.Addr().String())
	}

	starting := &handlers.Starting{Instance: c.Instance}
	served := make(chan error, 1)
	go func() { served <- handlers.Serve(ctx, listener, starting, log) }()
	p, err := c.start(ctx, listener.Addr(), log)
	defer p.close(log)
	if err != nil {
		listener.Close()
		log.Debug("requests are refused no longer", "listener", <-served)
		return commandError(ctx, err, "the server did not start")
	}
	starting.Serve(p.handler(c, log))
	log.Info("locklab serves", "url", "http://"+listener.Addr().String(), "instance", c.Instance, "build", build(),
		"versions", strings.Join(p.versionNames(), " "), "redis", p.redis.String(), "database", p.orders.String())
	c.warnLongLease(log)
	if err := <-served; err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w", c.Listen, err))
	}
	return nil
}

// start opens the parts of an instance that listens at addr, within the start timeout. Close them after an error, too.
func (c *serveCommand) start(ctx context.Context, addr net.Addr, log *slog.Logger) (*parts, error) {
	startCtx, cancel := context.WithTimeout(ctx, c.StartTimeout)
	defer cancel()
	p, err := c.open(startCtx)
	if err == nil {
		p.rateLimits, err = c.limitFlags.open(ctx, p, addr)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return p, err
	}
	p.outages = handlers.NewOutages(log, p.checks...)
	p.closers = append(p.closers, p.outages.Close)
	p.addCaches(c, log)
	p.preflight = preflight.NewMonitor(log, p.locks...)
	p.preflight.Reports(startCtx) // runs the first check now
	return p, nil
}

// warnLongLease warns if waiters give up before the lock of a dead holder expires.
func (c *serveCommand) warnLongLease(log *slog.Logger) {
	if c.Lease >= c.Wait {
		log.Warn("if a lock holder dies, waiting requests get 503 before its lease ends; set --lease (LAB_LEASE) below --wait (LAB_WAIT)",
			"lease", c.Lease, "wait", c.Wait)
	}
}

// parts are the components of an instance.
type parts struct {
	access     topology.Access // to every Redis server
	redis      *topology.Redis
	orders     *order.Store
	shopStore  *shop.Store
	backends   versions.Backends
	servers    map[string]topology.Servers // the servers with addresses
	checks     []handlers.HealthCheck
	outages    *handlers.Outages
	locks      []preflight.Check
	preflight  *preflight.Monitor
	metrics    *handlers.Metrics
	versions   []handlers.Version
	rateLimits handlers.RateLimits
	caches     *variants.Set
	closers    []func() error // in opening order
}

// open connects to the servers and opens the versions that they allow. Close the parts after an error, too.
func (c *serveCommand) open(ctx context.Context) (*parts, error) {
	p := &parts{metrics: handlers.NewMetrics()}
	p.backends = versions.Backends{Expiry: c.Lease, Request: c.Request, NodeTimeout: c.NodeTimeout}
	p.servers = make(map[string]topology.Servers)
	addrMap, err := topology.ParseAddrMap(c.AddrMap)
	if err != nil {
		return p, err
	}
	p.access = topology.Access{User: c.RedisUser, Password: c.RedisPassword, Map: addrMap}
	if err := p.connect(ctx, c); err != nil {
		return p, err
	}
	for _, v := range versions.All() {
		if _, connected := p.servers[v.Server()]; v.Server() != "" && !connected {
			continue
		}
		if err := p.addVersion(ctx, v, c); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *parts) addVersion(ctx context.Context, v versions.Version, c *serveCommand) error {
	if v.Strategy == "" {
		p.versions = append(p.versions, handlers.Version{Version: v})
		return nil
	}
	opened, err := versions.Open(v.Strategy, p.backends)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, opened.Close)
	if servers, connected := p.servers[v.Server()]; connected {
		lock := preflight.Lock{Name: v.Name, Instance: c.Instance, Strategy: opened.Bare, Where: servers.String(), Redis: redisClients(servers)}
		check := handlers.HealthCheck{Name: servers.String(), Ping: servers.Ping}
		if v.Server() == versions.NameDatabase {
			check.Ping = p.orders.Ping // creates tables that the database has lost
		}
		if opened.Ping != nil { // the lock has its own connection
			check.Ping = opened.Ping
			if err := waitForPing(ctx, opened.Ping); err != nil {
				return fmt.Errorf("%s: %w", v.Flag(), err)
			}
		}
		p.checks, p.locks = append(p.checks, check), append(p.locks, lock.Check)
		if nodes, several := servers.Backend().([]redis.UniversalClient); several {
			p.checks = append(p.checks, nodeChecks(servers, nodes)...)
		}
	}
	if opened.Queue != nil {
		p.metrics.AddQueue(v.Name, opened.Queue.Waiting)
	}
	guard := &lockstrategy.Guard{Strategy: opened, Observer: p.metrics.LockObserver(v.Name)}
	p.versions = append(p.versions, handlers.Version{Version: v, Lock: guard, Owner: opened.Process})
	return nil
}

// nodeChecks returns a check for each node of a quorum. They are optional, because the quorum works without some of its nodes.
func nodeChecks(quorum topology.Servers, nodes []redis.UniversalClient) (checks []handlers.HealthCheck) {
	for _, node := range nodes {
		name := fmt.Sprint(quorum, " ", node.(*redis.Client).Options().Addr)
		ping := func(ctx context.Context) error { return node.Ping(ctx).Err() }
		checks = append(checks, handlers.HealthCheck{Name: name, Ping: ping, Optional: true})
	}
	return checks
}

// waitForPing pings until a ping succeeds or ctx ends. It needs no pause: a failing ping waits until its own timeout.
func waitForPing(ctx context.Context, ping func(context.Context) error) error {
	for {
		if err := ping(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func (p *parts) handler(c *serveCommand, log *slog.Logger) http.Handler {
	return handlers.New(handlers.Config{
		Shop: p.shopStore,
		Parcels: shop.Worker{
			Name: c.Instance, Queue: shop.Queue{Redis: p.redis.Master}, Store: p.shopStore, Guard: shop.OneTransaction, Idle: 30 * time.Second,
		},
		Instance: c.Instance, Topology: c.Topology, Build: build(), Versions: p.versions, Wait: c.Wait,
		Views: pview.NewCounter(p.redis.Master, p.redis.Replica), Orders: p.orders, RateLimits: p.rateLimits, Caches: p.caches,
		Outages: p.outages, Preflight: p.preflight.Reports, Metrics: p.metrics, AdminToken: c.AdminToken, Log: log,
	})
}

func (p *parts) versionNames() (names []string) {
	for _, v := range p.versions {
		names = append(names, v.Name)
	}
	return names
}

// close closes the parts in reverse order of opening.
func (p *parts) close(log *slog.Logger) {
	for _, closer := range slices.Backward(p.closers) {
		if err := closer(); err != nil {
			log.Warn("close", "error", err)
		}
	}
}
