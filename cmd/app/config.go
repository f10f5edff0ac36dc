package main

import (
	"cmp"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/lmittmann/tint"

	"locklab/order"
	"locklab/topology"
)

// serveCommand runs an instance. Each flag has a variable: --listen is LAB_LISTEN.
type serveCommand struct {
	Listen         string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one. Only this machine can reach the default (default: ${default})."`
	Instance       string        `placeholder:"NAME" help:"Name of this instance in every answer (default: its port, as in the article)."`
	Topology       string        `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Topology of Redis: ${enum} (default: ${default})."`
	Redis          []string      `default:"127.0.0.1:6379" placeholder:"HOST:PORT" help:"Addresses of Redis. single: one. master-slave: all nodes, in any order. sentinel: the sentinels. cluster: some nodes (default: ${default})."`
	SentinelMaster string        `default:"lab" placeholder:"NAME" help:"Name under which the sentinels know the master (default: ${default})."`
	RedisPassword  string        `placeholder:"SECRET" help:"Password of all Redis servers (default: none)."`
	AddrMap        []string      `placeholder:"FROM=TO" help:"Addresses to dial instead of those that Redis announces, such as 10.66.6.0/24=127.0.0.1 for containers seen from their host (default: as announced)."`
	Redlock        []string      `placeholder:"HOST:PORT" help:"Addresses of the independent nodes of RedLock: five, and at least three. Without them there is no v4 (default: none)."`
	Database       string        `default:"sqlite:locklab.db" placeholder:"sqlite:PATH|mysql:DSN" help:"Database of the orders. A DSN is user:password@tcp(host:port)/name (default: ${default})."`
	Lease          time.Duration `default:"30s" help:"Lifetime of a lock whose holder died; a living holder renews at a third of it (default: ${default})."`
	Wait           time.Duration `default:"30s" help:"Longest wait for a lock; then the answer is 503 (default: ${default})."`
	OrderThink     time.Duration `default:"100ms" help:"Time between reading and writing an order; the article sleeps 1s (default: ${default})."`
	AdminToken     string        `placeholder:"SECRET" help:"Token required to reset data (default: none)."`
	StartTimeout   time.Duration `default:"5s" help:"Longest wait for the servers at the start (default: ${default})."`
	LogFormat      string        `default:"text" enum:"text,json" placeholder:"FORMAT" help:"Format of the log: ${enum} (default: ${default})."`
	LogLevel       string        `default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Least level to log: ${enum}; debug has a line for each request (default: ${default})."`
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
		within("--lease", c.Lease, shortestLease, longest), within("--wait", c.Wait, time.Millisecond, longest),
		within("--order-think", c.OrderThink, 0, longest), within("--start-timeout", c.StartTimeout, time.Millisecond, longest),
	)
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
		return misuse("--redlock names %d addresses; a majority that survives a loss needs at least 3, and the articles take 5", len(c.Redlock))
	}
	for _, a := range c.Redlock {
		if slices.Contains(c.Redis, a) {
			return misuse("--redlock names %s, which --redis names too; RedLock's nodes are servers of their own", a)
		}
	}
	return addresses("--redlock", c.Redlock)
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
	seen := map[string]bool{}
	for _, a := range list {
		if err := address(flag, a); err != nil {
			return err
		}
		if seen[a] {
			return misuse("%s names %s twice; name each server once", flag, a)
		}
		seen[a] = true
	}
	return nil
}

func address(flag, text string) error {
	_, port, err := net.SplitHostPort(text)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 && flag != "--listen" {
		return misuse("%s is %q; it must be host:port with a port up to 65535", flag, text)
	}
	return nil
}
