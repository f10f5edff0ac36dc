// Package versions is the one table of the ways to do the same work: v0, v1, …
//
// The instances, the demo, the bursts, the matrix, the page of an instance, the load tests and the benchmark read it. A new version begins
// with one [Version] in this file; CONTRIBUTING.md lists the other files.
package versions

import (
	"slices"

	"locklab/lockstrategy"
)

// Version is one way to do the same work, and a prefix of the URL: /v3/pview.
type Version struct {
	Name     string // "v3": in URLs, tables, metrics and saved runs
	Title    string // what protects the work, in two words: "Redis lock"
	Summary  string // the same in a line
	Shows    string // what a burst over two instances shows, in a sentence
	Loses    bool   // whether such a burst loses updates, and has two winners: what the version is there to show
	Article  string // final value that A4 reports for ArticleUsers page views; "-": A4 reports no number
	Strategy string // as lockstrategy.Open takes it; empty: the version has no lock, but one atomic command
	Needs    Server // that keeps the lock; empty: no server does
	Extra    bool   // left out of the default demo and of the tables of README.md; --versions names it
}

// ArticleUsers is the number of page views for which A4 reports final values.
const ArticleUsers = 666

// Server is a kind of server that keeps locks. Its name is the flag and the variable with its addresses: --redlock, LAB_REDLOCK.
type Server string

// The servers that locks are kept on.
const (
	Redis        Server = "redis"    // the Redis of the counter, in any topology
	RedLockNodes Server = "redlock"  // independent Redis nodes
	Database     Server = "database" // the database of the orders
	ZooKeeper    Server = "zookeeper"
	Memcached    Server = "memcached"
	Etcd         Server = "etcd" // a cluster of etcd
)

// Flag is the flag of `app serve` that names the servers.
func (s Server) Flag() string { return "--" + string(s) }

var all = []Version{
	{
		Name: "v0", Title: "none, atomic", Article: "-",
		Summary: "no lock, but one atomic command: do you need a lock?",
		Shows:   "v0 needs no lock: one command in Redis, and one conditional UPDATE, cannot be interleaved.",
	},
	{
		Name: "v1", Title: "none", Article: "34", Loses: true,
		Summary:  "no lock: read, add, write",
		Shows:    "v1 reads, adds one and writes: two requests that read the same number write the same one, so one update is lost.",
		Strategy: lockstrategy.NameNone,
	},
	{
		Name: "v2", Title: "process mutex", Article: "391", Loses: true,
		Summary:  "a mutex in this process: no help against another process",
		Shows:    "v2 queues inside each process only: each process overwrites what the other has written.",
		Strategy: lockstrategy.NameProcess,
	},
	{
		Name: "v3", Title: "Redis lock", Article: "-", Needs: Redis,
		Summary:  "the Redis lock, which Redisson's RLock understands",
		Shows:    "v3 locks in Redis, outside of the processes: every view is there, and one driver wins.",
		Strategy: lockstrategy.NameRedis,
	},
	{
		Name: "v4", Title: "RedLock", Article: "-", Needs: RedLockNodes,
		Summary:  "RedLock over independent nodes",
		Shows:    "v4 does the same by a majority of five independent nodes.",
		Strategy: lockstrategy.NameRedLock,
	},
	{
		Name: "v5", Title: "database row", Article: "-", Needs: Database, Extra: true,
		Summary:  "a lease in a row of the orders' database",
		Shows:    "v5 locks in a row of the database: no further server is needed, and waiters poll.",
		Strategy: lockstrategy.NameDatabase,
	},
	{
		Name: "v6", Title: "ZooKeeper", Article: "-", Needs: ZooKeeper, Extra: true,
		Summary:  "a queue of nodes in ZooKeeper, which a majority of its servers agrees on",
		Shows:    "v6 locks in ZooKeeper: its servers queue the processes, and a majority agrees on each grant.",
		Strategy: lockstrategy.NameZooKeeper,
	},
	{
		Name: "v7", Title: "etcd", Article: "-", Needs: Etcd, Extra: true,
		Summary:  "a queue of keys in etcd, by create revision",
		Shows:    "v7 locks in etcd, which replicates each lock to a majority before it answers.",
		Strategy: lockstrategy.NameEtcd,
	},
	{
		Name: "v8", Title: "Memcached", Article: "-", Needs: Memcached, Extra: true,
		Summary:  "an item in Memcached, which may forget it; no fencing token",
		Shows:    "v8 locks in Memcached: every view is there as long as the server forgets nothing, and waiters poll.",
		Strategy: lockstrategy.NameMemcached,
	},
}

// All returns the versions, in the order of the URL.
func All() []Version { return slices.Clone(all) }

// Names are the names of all versions.
func Names() []string { return named(func(Version) bool { return true }) }

// Defaults are the names of the versions that the articles compare: without those that are extra.
func Defaults() []string { return named(func(v Version) bool { return !v.Extra }) }

func named(chosen func(Version) bool) (names []string) {
	for _, v := range all {
		if chosen(v) {
			names = append(names, v.Name)
		}
	}
	return names
}

// Find returns the version with a name; without one it reports false.
func Find(name string) (Version, bool) {
	i := slices.IndexFunc(all, func(v Version) bool { return v.Name == name })
	if i < 0 {
		return Version{}, false
	}
	return all[i], true
}

// Needs returns the kinds of servers that versions need, each once.
func Needs(names ...string) (servers []Server) {
	for _, v := range all {
		if v.Needs != "" && slices.Contains(names, v.Name) && !slices.Contains(servers, v.Needs) {
			servers = append(servers, v.Needs)
		}
	}
	return servers
}
