// Package compare makes the tables of docs/compare.md: the locks on every backend side by side, from saved runs and from the file of the
// benchmark. The text around the tables is written by hand.
//
// What is NOT guaranteed: a figure holds for the machine and the run that it is from. A cell that no run backs says so.
package compare

import "locklab/lab/claims/faults"

// Facts are what is known of a lock without a run.
type Facts struct {
	Version string // in package versions, and the row of its variants in the matrix
	Backend string
	Single  bool   // one server is enough
	Bench   string // its row in the benchmark
	Bare    string // its row there without the queue; empty: there is none
	Library string // the row there of the usual library; empty: there is none in the comparison
	Leader  string // the experiment that kills its leader; empty: it has no leader
}

// facts has an entry for each version that keeps its lock on a server.
var facts = []Facts{
	{Version: "v3", Backend: "Redis", Single: true, Bench: "ours", Bare: "bare", Leader: faults.F02.ID},
	{Version: "v4", Backend: "RedLock", Bench: "redlock", Bare: "redlock-bare"},
	{Version: "v5", Backend: "database", Single: true, Bench: "v5", Bare: "v5-bare", Library: "GET_LOCK"},
	{Version: "v6", Backend: "ZooKeeper", Bench: "v6", Bare: "v6-bare", Library: "zk.Lock", Leader: faults.F10.ID},
	{Version: "v7", Backend: "etcd", Bench: "v7", Bare: "v7-bare", Library: "etcd", Leader: faults.F09.ID},
	{Version: "v8", Backend: "Memcached", Single: true, Bench: "v8", Bare: "v8-bare"},
}

// Name is the lock as the tables have it.
func (f Facts) Name() string { return f.Version + " " + f.Backend }
