// Package versions is the table of the lab's versions, v0 and up: several ways to do the same work, each with another lock or none.
//
// The instances, the demo, the bursts, the matrix, the pages, the load tests and the benchmark read it. A new version starts with one
// [Version] in this file; CONTRIBUTING.md lists the other files.
package versions

import (
	"slices"
)

// Version is one way to do the work, and a prefix of the URL: /v3/pview.
type Version struct {
	Name         string // "v3": in URLs, tables, metrics and saved runs
	Title        string // what protects the work, in two words: "Redis lock"
	Summary      string // the same in one line
	Explanation  string // why a burst over two instances ends as it does, in one sentence
	LosesUpdates bool   // a burst over two instances is expected to lose updates and to have several winners
	ArticleValue string // the counter that A4 reports after ArticleUsers page views; "-" if it reports none
	Strategy     string // for [Open]; empty for a version with one atomic command in place of a lock
	Extra        bool   // not part of the default demo and of the tables in README.md; --versions can name it
}

// ArticleUsers is the number of page views for which A4 reports counters.
const ArticleUsers = 666

// Server is the kind of server that keeps the lock. It has the name of the strategy, and so do the flag and the variable with its addresses
// (--redlock and LAB_REDLOCK). It is empty for a version without a server.
func (v Version) Server() string {
	for _, known := range strategies {
		if known.name == v.Strategy && known.local {
			return ""
		}
	}
	return v.Strategy
}

// Flag returns the flag of `app serve` for the addresses of the version's servers.
func (v Version) Flag() string { return "--" + v.Server() }

var all = []Version{
	{
		Name: "v0", Title: "none, atomic", ArticleValue: "-",
		Summary:     "no lock: one atomic command is enough",
		Explanation: "v0 needs no lock: nothing can run in the middle of one Redis command or one conditional UPDATE.",
	},
	{
		Name: "v1", Title: "none", ArticleValue: "34", LosesUpdates: true,
		Summary:     "no lock: read, add one, write back",
		Explanation: "v1 reads, adds one and writes: two requests that read the same number write the same number, so one update is lost.",
		Strategy:    NameNone,
	},
	{
		Name: "v2", Title: "process mutex", ArticleValue: "391", LosesUpdates: true,
		Summary:     "a mutex in this process, which other processes do not see",
		Explanation: "v2 queues requests inside each process only, so each process overwrites what the other has written.",
		Strategy:    NameProcess,
	},
	{
		Name: "v3", Title: "Redis lock", ArticleValue: "-",
		Summary:     "a lock in Redis, compatible with Redisson's RLock",
		Explanation: "v3 locks in Redis, outside the processes, so every view is counted and one driver wins.",
		Strategy:    NameRedis,
	},
	{
		Name: "v4", Title: "RedLock", ArticleValue: "-",
		Summary:     "RedLock: a majority of independent Redis nodes",
		Explanation: "v4 does the same with a majority of five independent nodes.",
		Strategy:    NameRedLock,
	},
	{
		Name: "v5", Title: "database row", ArticleValue: "-", Extra: true,
		Summary:     "a lease in a row of the orders' database",
		Explanation: "v5 keeps its lock in a database row: it needs no extra server, but waiters have to poll.",
		Strategy:    NameDatabase,
	},
	{
		Name: "v6", Title: "ZooKeeper", ArticleValue: "-", Extra: true,
		Summary:     "a queue of nodes in ZooKeeper, agreed on by a majority of its servers",
		Explanation: "v6 locks in ZooKeeper: its servers queue the processes, and a majority agrees on each grant.",
		Strategy:    NameZooKeeper,
	},
	{
		Name: "v7", Title: "etcd", ArticleValue: "-", Extra: true,
		Summary:     "a queue of keys in etcd, ordered by create revision",
		Explanation: "v7 locks in etcd, which replicates each lock to a majority before it answers.",
		Strategy:    NameEtcd,
	},
	{
		Name: "v8", Title: "Memcached", ArticleValue: "-", Extra: true,
		Summary:     "an item in Memcached, which may drop it; no fencing token",
		Explanation: "v8 locks in Memcached: every view is counted as long as the server does not drop the lock, and waiters have to poll.",
		Strategy:    NameMemcached,
	},
}

// All returns the versions in ascending order.
func All() []Version { return slices.Clone(all) }

// Names returns the names of all versions.
func Names() []string { return namesOf(func(Version) bool { return true }) }

// DefaultNames returns the names of the versions that the articles compare: all but the extra ones.
func DefaultNames() []string { return namesOf(func(v Version) bool { return !v.Extra }) }

func namesOf(include func(Version) bool) (names []string) {
	for _, v := range all {
		if include(v) {
			names = append(names, v.Name)
		}
	}
	return names
}

// Find returns the version with a name, and whether there is one.
func Find(name string) (Version, bool) {
	i := slices.IndexFunc(all, func(v Version) bool { return v.Name == name })
	if i < 0 {
		return Version{}, false
	}
	return all[i], true
}

// RequiredServers returns the kinds of servers that the named versions need, each once.
func RequiredServers(names ...string) (kinds []string) {
	for _, v := range all {
		if kind := v.Server(); kind != "" && slices.Contains(names, v.Name) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
