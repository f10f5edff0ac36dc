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
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/lmittmann/tint"
	"github.com/redis/go-redis/v9"

	"locklab/cache/variants"
	"locklab/handlers"
	"locklab/lockstrategy"
	"locklab/lockstrategy/preflight"
	"locklab/order"
	"locklab/pview"
	"locklab/shop"
	"locklab/topology"
	"locklab/versions"
)

// serveCommand runs an instance. Each flag has a variable: --listen is LAB_LISTEN.
type serveCommand struct {
	Listen         string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one. Only this machine can reach the default."`
	Instance       string        `placeholder:"NAME" help:"Name of this instance in every answer (default: its port, as in the article)."`
	Topology       string        `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Topology of Redis: ${enum}."`
	Redis          []string      `default:"127.0.0.1:6379" placeholder:"HOST:PORT" help:"Addresses of Redis. single: one. master-slave: all nodes, in any order. sentinel: the sentinels. cluster: some nodes."`
	SentinelMaster string        `default:"lab" placeholder:"NAME" help:"Name under which the sentinels know the master."`
	RedisPassword  string        `placeholder:"SECRET" help:"Password of all Redis servers (default: none)."`
	AddrMap        []string      `placeholder:"FROM=TO" help:"Addresses to dial instead of those that Redis announces, such as 10.66.6.0/24=127.0.0.1 for containers seen from their host (default: as announced)."`
	Redlock        []string      `placeholder:"HOST:PORT" help:"Addresses of the independent nodes of RedLock: five as in A4, and at least three. Without them there is no v4 (default: none)."`
	Database       string        `default:"sqlite:locklab.db" placeholder:"sqlite:PATH|mysql:DSN" help:"Database of the orders, and of the locks of v5. A DSN is user:password@tcp(host:port)/name."`
	Zookeeper      []string      `placeholder:"HOST:PORT" help:"Addresses of the servers of one ZooKeeper ensemble. Without them there is no v6 (default: none)."`
	Etcd           []string      `placeholder:"HOST:PORT" help:"Addresses of etcd's servers, for clients: one, or three of a cluster. Without them there is no v7 (default: none)."`
	EtcdUser       string        `placeholder:"NAME" help:"User of etcd, where it has users (default: none)."`
	EtcdPassword   string        `placeholder:"SECRET" help:"Password of that user (default: none)."`
	Memcached      []string      `placeholder:"HOST:PORT" help:"Addresses of the Memcached servers, the same list for each instance. Without them there is no v8 (default: none)."`
	Backends       bool          `default:"true" negatable:"" help:"Use the servers of --zookeeper, --etcd and --memcached; --no-backends leaves v6, v7 and v8 out."`
	Lease          time.Duration `default:"10s" help:"Lifetime of a lock whose holder died; a living holder renews at a third of it. Keep it shorter than the wait."`
	Request        time.Duration `placeholder:"2s" help:"Longest wait for one answer of a lock's server, except RedLock's nodes. It must be shorter than two thirds of the lease (default: 2s, or a third of a shorter lease)."`
	NodeTimeout    time.Duration `placeholder:"500ms" help:"Longest wait for one answer of a node of RedLock. It must be shorter than two thirds of the lease (default: 500ms, or a third of a shorter lease)."`
	Wait           time.Duration `default:"30s" help:"Longest wait for a lock; then the answer is 503. A request may ask for less with ?wait=, and gets 423 then."`
	OrderThink     time.Duration `default:"100ms" help:"Time between reading and writing an order; the article sleeps 1s."`
	CacheTTL       time.Duration `default:"10s" help:"Lifetime of an item in the caches c0 to c6; c7 refreshes it at that age."`
	ItemQuery      time.Duration `default:"20ms" help:"Time that loading an item takes longer than the database needs."`
	AdminToken     string        `placeholder:"SECRET" help:"Token required to reset data (default: none)."`
	StartTimeout   time.Duration `default:"5s" help:"Longest wait for the servers at the start."`
	LogFormat      string        `default:"text" enum:"text,json" placeholder:"FORMAT" help:"Format of the log: ${enum}."`
	LogLevel       string        `default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Least level to log: ${enum}; debug has a line for each request."`

	limitFlags
}

// Bounds of the durations.
const (
	shortestLease = 100 * time.Millisecond
	longest       = time.Hour
)

// validate returns the first setting that cannot work, before anything is opened.
func (c *serveCommand) validate() error {
	return cmp.Or(
		address("--listen", c.Listen), within("--instance, in characters,", len(c.Instance), 0, 64), addresses("--redis", c.Redis),
		c.validateTopology(), c.validateRedlock(), c.validateDatabase(),
		optional("--zookeeper", c.Zookeeper), c.validateEtcd(), optional("--memcached", c.Memcached),
		within("--lease", c.Lease, shortestLease, longest), c.validateRequest("--request", c.Request),
		c.validateRequest("--node-timeout", c.NodeTimeout), within("--wait", c.Wait, time.Millisecond, longest),
		within("--order-think", c.OrderThink, 0, longest), within("--start-timeout", c.StartTimeout, time.Millisecond, longest),
		within("--cache-ttl", c.CacheTTL, 10*time.Millisecond, longest), within("--item-query", c.ItemQuery, 0, longest),
		c.limitFlags.validate(),
	)
}

// validateRequest checks that a renewal that is not answered can be repeated within the lease.
func (c *serveCommand) validateRequest(flag string, timeout time.Duration) error {
	if timeout < 0 || timeout >= 2*c.Lease/3 {
		return misuse("%s is %s; it must be shorter than two thirds of --lease, which is %s", flag, timeout, c.Lease)
	}
	return nil
}

func (c *serveCommand) validateTopology() error {
	if c.Topology == string(topology.Single) && len(c.Redis) != 1 {
		return misuse("--redis names %d addresses; --topology single has one", len(c.Redis))
	}
	if _, err := topology.ParseAddrMap(c.AddrMap); err != nil {
		return misuse("--addr-map: %w", err)
	}
	if c.SentinelMaster == "" {
		return misuse("--sentinel-master is empty; it must be the name under which the sentinels know the master")
	}
	return nil
}

func (c *serveCommand) validateRedlock() error {
	if len(c.Redlock) == 0 {
		return nil
	}
	if len(c.Redlock) < 3 {
		return misuse("--redlock names %d addresses; a majority that survives a loss needs at least 3; A4 takes 5, and A2 proposes 5",
			len(c.Redlock))
	}
	for _, a := range c.Redlock {
		for _, b := range c.Redis {
			if sameServer(a, b) {
				return misuse("--redlock names %s, which --redis names too, as %s; RedLock's nodes are servers of their own", a, b)
			}
		}
	}
	return addresses("--redlock", c.Redlock)
}

func (c *serveCommand) validateEtcd() error {
	if len(c.Etcd) == 0 {
		return nil
	}
	if (c.EtcdUser == "") != (c.EtcdPassword == "") {
		return misuse("--etcd-user and --etcd-password belong together; set both or neither")
	}
	for _, addr := range c.Etcd {
		if strings.Contains(addr, "/") {
			return misuse("--etcd is %q; it must be host:port, as 127.0.0.1:2379, without http://", addr)
		}
	}
	return addresses("--etcd", c.Etcd)
}

// sameServer reports whether two addresses, host:port, are one: localhost is 127.0.0.1. A name that cannot be resolved is only itself.
func sameServer(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	if a == b || portA != portB {
		return a == b
	}
	return slices.ContainsFunc(resolved(hostA), func(ip string) bool { return slices.Contains(resolved(hostB), ip) })
}

// resolved are the IP addresses of a host. All of the loopback network are one machine.
func resolved(host string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ips, _ := net.DefaultResolver.LookupHost(ctx, host)
	for i, text := range ips {
		if ip := net.ParseIP(text); ip != nil && ip.IsLoopback() {
			ips[i] = "loopback"
		}
	}
	return ips
}

func (c *serveCommand) validateDatabase() error {
	if err := (order.Config{Database: c.Database}).Validate(); err != nil {
		return misuse("--database is %w", err)
	}
	return nil
}

func (c *serveCommand) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // one of the enum's, which are slog's own
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: !colours(w)}))
}

// addresses checks a list of addresses: none is malformed, and none is there twice. A2's listing passes one RedLock node twice, so that
// three names mean two nodes.
func addresses(flag string, list []string) error {
	if len(list) == 0 {
		return misuse("%s is empty; name at least one host:port", flag)
	}
	for i, a := range list {
		if err := address(flag, a); err != nil {
			return err
		}
		for _, b := range list[:i] {
			if sameServer(a, b) {
				return misuse("%s names one server twice, as %s and %s; name each server once", flag, b, a)
			}
		}
	}
	return nil
}

// optional checks addresses, if there are any.
func optional(flag string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return addresses(flag, list)
}

func address(flag, text string) error {
	_, port, err := net.SplitHostPort(text)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 && flag != "--listen" {
		return misuse("%s is %q; it must be host:port with a port up to 65535", flag, text)
	}
	return nil
}

// Run serves until ctx ends, then finishes what runs.
func (c *serveCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	log := c.logger(std.err)
	driverLog.Store(log)
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w", c.Listen, err))
	}
	defer listener.Close()
	if c.Instance == "" {
		_, c.Instance, _ = net.SplitHostPort(listener.Addr().String())
	}

	reach, cancel := context.WithTimeout(ctx, c.StartTimeout)
	defer cancel()
	p, err := c.open(reach)
	defer p.close(log)
	if err == nil {
		p.limited, err = c.limitFlags.open(ctx, p, listener.Addr())
	}
	if err := stopped(ctx, err, "it did not serve"); err != nil {
		return err
	}
	log.Info("locklab serves", "url", "http://"+listener.Addr().String(), "instance", c.Instance, "build", build(),
		"versions", strings.Join(p.names(), " "), "redis", p.redis.String(), "database", p.orders.String())
	c.warn(log)
	p.outages = handlers.NewOutages(log, p.checks...)
	p.closers = append(p.closers, p.outages.Close)
	p.addCaches(c, log)
	p.preflight = preflight.NewMonitor(log, p.locks...)
	p.preflight.Reports(reach) // asks now, while the start is bounded
	if err := handlers.Serve(ctx, listener, p.handler(c, log), log); err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w", c.Listen, err))
	}
	return nil
}

// warn logs settings that work and have a consequence that surprises.
func (c *serveCommand) warn(log *slog.Logger) {
	if c.Lease >= c.Wait {
		log.Warn("requests that wait for a holder that dies get 503: their wait ends before its lease; set --lease (LAB_LEASE) "+
			"below --wait (LAB_WAIT)", "lease", c.Lease, "wait", c.Wait)
	}
}

// parts are what an instance is made of: the only place where they meet.
type parts struct {
	access    topology.Access // to all Redis servers
	redis     *topology.Redis
	orders    *order.Store
	goods     *shop.Store
	backends  lockstrategy.Backends
	servers   map[versions.Server]topology.Servers // those that were given
	checks    []handlers.Check
	outages   *handlers.Outages
	locks     []preflight.Check
	preflight *preflight.Monitor
	metrics   *handlers.Metrics
	versions  []handlers.Version
	limited   handlers.Limited
	caches    *variants.Set
	closers   []func() error // in the order of opening
}

// open connects servers, strategies and scenarios. After an error, too, parts has everything that is open.
func (c *serveCommand) open(ctx context.Context) (*parts, error) {
	p := &parts{metrics: handlers.NewMetrics()}
	p.backends = lockstrategy.Backends{Expiry: c.Lease, Request: c.Request, NodeTimeout: c.NodeTimeout}
	p.servers = make(map[versions.Server]topology.Servers)
	addrMap, err := topology.ParseAddrMap(c.AddrMap)
	if err != nil {
		return p, err
	}
	p.access = topology.Access{Password: c.RedisPassword, Map: addrMap}
	if err := p.connect(ctx, c); err != nil {
		return p, err
	}
	for _, v := range versions.All() {
		if _, given := p.servers[v.Needs]; v.Needs != "" && !given {
			continue
		}
		if err := p.add(ctx, v, c); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *parts) add(ctx context.Context, v versions.Version, c *serveCommand) error {
	if v.Strategy == "" {
		p.versions = append(p.versions, handlers.Version{Version: v})
		return nil
	}
	opened, err := lockstrategy.Open(v.Strategy, p.backends)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, opened.Close)
	if servers, given := p.servers[v.Needs]; given {
		lock := preflight.Lock{Name: v.Name, Instance: c.Instance, Strategy: opened.Bare, Where: servers.String(), Redis: asked(servers)}
		check := handlers.Check{Name: servers.String(), Ping: servers.Ping}
		if opened.Ping != nil { // the lock has a connection of its own
			check.Ping = opened.Ping
			if err := answered(ctx, opened.Ping); err != nil {
				return fmt.Errorf("%s: %w", v.Needs.Flag(), err)
			}
		}
		p.checks, p.locks = append(p.checks, check), append(p.locks, lock.Check)
		if nodes, several := servers.Backend().([]redis.UniversalClient); several {
			p.checks = append(p.checks, spares(servers, nodes)...)
		}
	}
	if opened.Cohort != nil {
		p.metrics.Queue(v.Name, opened.Cohort.Waiting)
	}
	guard := &lockstrategy.Guard{Strategy: opened, Observer: p.metrics.Lock(v.Name)}
	p.versions = append(p.versions, handlers.Version{Version: v, Lock: guard, Owner: opened.Process})
	return nil
}

// spares are the nodes of a quorum, which works without some of them.
func spares(quorum topology.Servers, nodes []redis.UniversalClient) (checks []handlers.Check) {
	for _, node := range nodes {
		name := fmt.Sprint(quorum, " ", node.(*redis.Client).Options().Addr)
		ping := func(ctx context.Context) error { return node.Ping(ctx).Err() }
		checks = append(checks, handlers.Check{Name: name, Ping: ping, Spare: true})
	}
	return checks
}

// answered asks until there is an answer, or ctx has ended. A ping is bounded, and waits.
func answered(ctx context.Context, ping func(context.Context) error) error {
	for {
		if err := ping(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func (p *parts) handler(c *serveCommand, log *slog.Logger) http.Handler {
	return handlers.New(handlers.Config{
		Shop: p.goods,
		Parcels: shop.Worker{
			Name: c.Instance, Queue: shop.Queue{Redis: p.redis.Master}, Store: p.goods, Guard: shop.OneTransaction, Idle: 30 * time.Second,
		},
		Instance: c.Instance, Topology: c.Topology, Build: build(), Versions: p.versions, Wait: c.Wait,
		Views: pview.NewCounter(p.redis.Master, p.redis.Replica), Orders: p.orders, Limited: p.limited, Caches: p.caches,
		Outages: p.outages, Preflight: p.preflight.Reports, Metrics: p.metrics, AdminToken: c.AdminToken, Log: log,
	})
}

func (p *parts) names() (names []string) {
	for _, v := range p.versions {
		names = append(names, v.Name)
	}
	return names
}

// close closes the parts, the last opened first.
func (p *parts) close(log *slog.Logger) {
	for _, closer := range slices.Backward(p.closers) {
		if err := closer(); err != nil {
			log.Warn("close", "error", err)
		}
	}
}

// driverLogger writes the lines of go-redis and of the MySQL driver, which have no levels, as debug lines of the log that it holds.
// Without a log it drops them: a server that starts refuses connections at first, and an experiment breaks servers on purpose.
type driverLogger struct{ atomic.Pointer[slog.Logger] }

var driverLog driverLogger

// install makes d the logger of both drivers. A driver has one logger in a process and reads it without a lock, so main calls install
// before it starts a goroutine.
func (d *driverLogger) install() {
	redis.SetLogger(d)
	_ = mysql.SetLogger(d) // it refuses no logger but nil
}

// Print is for the MySQL driver.
func (d *driverLogger) Print(v ...any) {
	if log := d.Load(); log != nil {
		log.Debug(strings.TrimSpace(fmt.Sprint(v...)), "driver", "mysql")
	}
}

// Printf is for go-redis.
func (d *driverLogger) Printf(ctx context.Context, format string, v ...any) {
	if log := d.Load(); log != nil {
		log.DebugContext(ctx, fmt.Sprintf(format, v...), "driver", "redis")
	}
}
