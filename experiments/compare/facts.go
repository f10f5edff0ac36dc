// Package compare makes docs/compare.md: the locks on every backend side by side, from saved runs and from the file of the benchmark.
//
// What is NOT guaranteed: a figure holds for the machine and the run that it is from. A cell that no run backs says so.
package compare

// Facts are what is known of a lock without a run.
type Facts struct {
	Version   string // in package versions, and the row of its variants in the matrix
	Backend   string
	Servers   string // that it needs
	Tolerates string // which failures it outlives
	Token     string // where the fencing token is from; empty: it issues none
	Waits     string // how a process waits for another
	Bench     string // its row in the benchmark
	Bare      string // its row there without the cohort; empty: there is none
	Library   string // the row there of the usual library; empty: there is none in the comparison
	Leader    string // the first letters of the experiment that kills its leader; empty: it has no leader
}

// facts has an entry for each version that keeps its lock on a server.
var facts = []Facts{
	{
		Version: "v3", Backend: "Redis", Servers: "1",
		Tolerates: "none; with replicas and " +
			"Sentinel or Cluster the death of a master, but not the loss of what it had not replicated",
		Token: "counter beside the lock, never below the server's time", Waits: "a message by Pub/Sub, and a timer",
		Bench: "ours", Bare: "bare", Leader: "F02",
	},
	{
		Version: "v4", Backend: "RedLock", Servers: "5 (an odd number)", Tolerates: "2 of 5 that are away, if none comes back without its data",
		Waits: "messages by Pub/Sub of the nodes, and a timer", Bench: "redlock", Bare: "redlock-bare",
	},
	{
		Version: "v5", Backend: "database", Servers: "1, which the application has", Tolerates: "what the database tolerates",
		Token: "column of the lock's row, never below the database's time", Waits: "polling", Bench: "v5", Bare: "v5-bare", Library: "GET_LOCK",
	},
	{
		Version: "v6", Backend: "ZooKeeper", Servers: "3", Tolerates: "1 of 3", Token: "transaction that created the node (czxid)",
		Waits: "watch on the node before", Bench: "v6", Bare: "v6-bare", Library: "zk.Lock", Leader: "F10",
	},
	{
		Version: "v7", Backend: "etcd", Servers: "3", Tolerates: "1 of 3", Token: "create revision of the key",
		Waits: "watch on the key before", Bench: "v7", Bare: "v7-bare", Library: "etcd", Leader: "F09",
	},
	{
		Version: "v8", Backend: "Memcached", Servers: "1", Tolerates: "none", Waits: "polling", Bench: "v8", Bare: "v8-bare",
	},
}

// Name is the lock as the tables have it.
func (f Facts) Name() string { return f.Version + " " + f.Backend }
