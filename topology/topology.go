// Package topology opens the go-redis client for each way to run Redis that the lab shows: single,
// master-slave, sentinel, cluster; and the independent nodes that RedLock needs.
//
// Every client is set up alike. A command is never sent twice: go-redis would repeat one whose
// answer is late, and an INCR that is repeated counts twice. A context's deadline bounds a command;
// without one, [answer] does.
//
// What is NOT guaranteed: replication is asynchronous in every topology, so a replica may answer
// with an old value, and a failover may forget writes that were confirmed.
package topology

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Kind names a topology, as A4's deployType does.
type Kind string

// The topologies.
const (
	Single      Kind = "single"       // one server
	MasterSlave Kind = "master-slave" // a master and its replicas; nobody promotes one
	Sentinel    Kind = "sentinel"     // the same, watched by sentinels that promote a replica
	Cluster     Kind = "cluster"      // the keys spread over several masters, each with replicas
)

// Config says which Redis to open.
type Config struct {
	Kind           Kind
	Addrs          []string // host:port. single: one. master-slave: all nodes. sentinel: the sentinels. cluster: some nodes
	SentinelMaster string   // the name under which the sentinels know the master
	Access
}

// Access is how to get at the servers.
type Access struct {
	Password string  // of the Redis servers, not of sentinels; empty: none
	Map      AddrMap // from announced addresses to those that can be dialed from here
}

// Redis is an open topology.
type Redis struct {
	Master redis.UniversalClient // reads and writes where the truth is

	cfg      Config
	replicas []redis.UniversalClient // none: this topology has none
	turn     atomic.Uint64           // of the replicas, when there are several clients
}

// Open opens the clients of a topology and waits until its masters answer or ctx ends. The error
// names what could not be reached.
func Open(ctx context.Context, cfg Config) (*Redis, error) {
	r := &Redis{cfg: cfg}
	var err error
	switch cfg.Kind {
	case Single:
		err = r.openSingle(ctx)
	case MasterSlave:
		err = r.openMasterSlave(ctx)
	case Sentinel:
		err = r.openSentinel(ctx)
	case Cluster:
		err = r.openCluster(ctx)
	default:
		err = fmt.Errorf("no topology %q: there are %s, %s, %s, %s", cfg.Kind, Single, MasterSlave, Sentinel, Cluster)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redis (%s): %w", r, err), r.Close())
	}
	return r, nil
}

// Replica returns a client that reads where the topology's replicas are, or the master's when it
// has none. What it reads may be old.
func (r *Redis) Replica() redis.UniversalClient {
	if len(r.replicas) == 0 {
		return r.Master
	}
	return r.replicas[r.turn.Add(1)%uint64(len(r.replicas))]
}

// Ping asks every master for an answer.
func (r *Redis) Ping(ctx context.Context) error {
	if cluster, ok := r.Master.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return ping(ctx, master)
		})
	}
	return ping(ctx, r.Master)
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

// String names the topology and its addresses.
func (r *Redis) String() string {
	return string(r.cfg.Kind) + " " + strings.Join(r.cfg.Addrs, ",")
}
