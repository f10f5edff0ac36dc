// Package topology connects to each kind of server that keeps locks: see [Connect]. It opens the go-redis client for each way in which
// the lab runs Redis: single, master-slave, sentinel and cluster.
//
// Every client of Redis has the same settings. A command that may have been executed is never sent again. go-redis would send it again
// when its reply is late, and an INCR that is executed twice counts twice. The deadline of the context bounds a command. Without one,
// [replyTimeout] bounds the wait for a reply, and [laterAtMost] the repetition of a command that servers refuse for now.
//
// What is NOT guaranteed: replication is asynchronous in every topology. A replica may answer with an old value, and a failover may
// lose writes that were confirmed.
package topology

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Kind names a topology, as A4's deployType does.
type Kind string

// The topologies.
const (
	Single      Kind = "single"       // one server
	MasterSlave Kind = "master-slave" // a master and its replicas, without failover
	Sentinel    Kind = "sentinel"     // the same, with sentinels that promote a replica when the master fails
	Cluster     Kind = "cluster"      // the keys spread over several masters, each with replicas
)

// Kinds returns all topologies.
func Kinds() []Kind { return []Kind{Single, MasterSlave, Sentinel, Cluster} }

// Config says which servers to open.
type Config struct {
	Kind Kind // of Redis
	// Addrs are host:port; of Redis also URLs. single: one. master-slave: all nodes. sentinel: the sentinels. cluster: some nodes. A database:
	// its URL.
	Addrs          []string
	SentinelMaster string // the name under which the sentinels know the master
	Access
}

// Access is what a client needs to reach the servers.
type Access struct {
	User     string  // of the Redis servers, not of the sentinels. It needs a Password; the default is the user "default"
	Password string  // of the Redis servers, not of the sentinels; empty for servers without one
	Map      AddrMap // from the addresses that servers announce to those that this machine can dial

	// From URLs.
	sentinelUser, sentinelPassword string
	database                       int
	tls                            *tls.Config // nil without TLS
}

// Redis is an open topology.
type Redis struct {
	Master redis.UniversalClient // reads and writes at the master

	cfg      Config
	replicas []redis.UniversalClient          // empty if the topology has none
	isMaster func(redis.UniversalClient) bool // whether one of replicas has become the master; nil where none can
	next     atomic.Uint64                    // counts the calls of Replica
}

// Open opens the clients of a topology and waits until its masters answer or ctx ends. The error
// names what could not be reached.
func Open(ctx context.Context, cfg Config) (*Redis, error) {
	all, err := cfg.servers()
	if err != nil {
		return nil, err
	}
	cfg.Addrs, cfg.Access = hostPorts(all), all[0].Access
	r := &Redis{cfg: cfg}
	switch cfg.Kind {
	case Single:
		r.Master = newClient(cfg.Addrs[0], cfg.Access)
		r.Master.AddHook(later{})
		err = until(ctx, r.Ping)
	case MasterSlave:
		err = r.openMasterSlave(ctx)
	case Sentinel:
		err = r.openSentinel(ctx)
	case Cluster:
		err = r.openCluster(ctx)
	default:
		err = fmt.Errorf("no topology %q: there are %s", cfg.Kind, fmt.Sprint(Kinds()))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redis (%s): %w%s", r, err, cfg.mistake(err)), refusal(cfg), r.Close())
	}
	return r, nil
}

// refusal returns why a server refuses connections, or nil if none does. A Redis in protected mode, or with too many clients,
// sends a line and closes the connection. go-redis takes that line for the reply to its greeting, and tells of a broken pipe.
func refusal(cfg Config) error {
	const within = 100 * time.Millisecond
	for _, addr := range cfg.Addrs {
		conn, err := net.DialTimeout("tcp", cfg.Map.Resolve(addr), within)
		if err != nil {
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(within))
		line, _ := bufio.NewReader(conn).ReadString('\n')
		_ = conn.Close()
		if reason, refused := strings.CutPrefix(line, "-"); refused {
			return fmt.Errorf("%s refuses the connection: %s", addr, strings.TrimSpace(reason))
		}
	}
	return nil
}

// Backend is a redis.UniversalClient.
func (r *Redis) Backend() any { return r.Master }

// Replica returns a client that reads from a replica, or from the master when the topology has no replicas. The value may be old.
func (r *Redis) Replica() redis.UniversalClient {
	for range r.replicas {
		replica := r.replicas[r.next.Add(1)%uint64(len(r.replicas))]
		if r.isMaster == nil || !r.isMaster(replica) {
			return replica
		}
	}
	return r.Master
}

// Ping sends a PING to every master.
func (r *Redis) Ping(ctx context.Context) error {
	if cluster, ok := r.Master.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return master.Ping(ctx).Err()
		})
	}
	return r.Master.Ping(ctx).Err()
}

// Close closes all clients.
func (r *Redis) Close() error {
	var err error
	for _, client := range append(r.replicas, r.Master) {
		if client != nil {
			err = errors.Join(err, client.Close())
		}
	}
	return err
}

// String names the topology and its addresses, without a password.
func (r *Redis) String() string {
	return string(r.cfg.Kind) + " " + strings.Join(r.cfg.Addrs, ",")
}
