package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule finds one weakness in what a server said. What it did not say is no weakness, but unknown.
type rule struct {
	lock   string             // of this one only; empty: of both
	found  func(Facts) string // What; empty: not here
	why    string
	remedy string

	grave, refuses bool
}

// rules are all weaknesses that a preflight knows, the grave ones first.
//
// A policy that evicts is none where maxmemory sets no limit: nothing is evicted then. Nor is noeviction with a limit: a full server
// refuses a lock, and loses none.
var rules = []rule{
	{
		// A probe's key may be one of its own. A cluster of one master has no others.
		lock: single, grave: true, refuses: true, found: func(f Facts) string {
			return sayIf(f.some(saidSize) && !f.is(saidSize, "1"), "it is one node of a cluster with "+f.Said[saidSize]+" masters")
		},
		why:    "no lock is granted on keys of the other masters",
		remedy: "start the instance with --topology cluster",
	},
	{
		grave: true, found: func(f Facts) string { return sayIf(f.is(saidRole, "slave"), "it is a replica") },
		why:    "a replica takes no writes; one that did would lose each lock at its next synchronization",
		remedy: "name the master, or let sentinel or a cluster name it",
	},
	{
		lock: single, grave: true, found: func(f Facts) string {
			return sayIf(f.older(6, 2), "it is Redis "+f.Said[saidVersion]+": its SET has no option GET")
		},
		why:    "no lock is granted: each grant reads the last fencing token and sets the new one with SET and GET",
		remedy: "run Redis 6.2 or later",
	},
	{
		found:  findEviction,
		why:    "a lock may be evicted while it is held, when memory runs out, and is granted again",
		remedy: "set maxmemory-policy noeviction, or give the locks a server that holds nothing else",
	},
	{
		lock: single, found: findReplicas,
		why:    "a replica may be promoted that has not got a lock yet, and grants it again; WAIT makes that rarer and not impossible",
		remedy: "let the resource check the fencing token; or lock over independent nodes (RedLock)",
	},
	{
		lock: single, found: func(f Facts) string {
			return sayIf(f.some(saidReplicas) && f.is(saidInSync, "0"), "min-replicas-to-write is 0")
		},
		why:    "a master that is cut off goes on granting after one of its replicas was promoted and grants too",
		remedy: "set min-replicas-to-write 1 and min-replicas-max-lag to seconds: the time of two masters gets shorter",
	},
	{
		lock: single, found: func(f Facts) string { // a replica may have none of its own
			return sayIf(f.is(saidReplicas, "0") && !f.is(saidRole, "slave"), "it has no replica that is connected")
		},
		why:    "while it is down nobody gets a lock that it keeps, and no holder can renew one",
		remedy: "add replicas with sentinel or a cluster, at the price of failovers that may lose a lock; or RedLock",
	},
	{
		lock: single, found: findForgetting,
		why:    "a restart forgets locks that are held, and grants them again",
		remedy: "set appendonly yes with appendfsync always; or start a server that crashed only when a lease has passed",
	},
	{
		lock: single, found: findLag,
		why:    "a crash of its machine forgets the grants that were not yet on disk, and they are granted again",
		remedy: "set appendfsync always, at the price of a disk write for each grant",
	},
	{
		lock: quorum, found: func(f Facts) string { return cmp.Or(findForgetting(f), findLag(f)) },
		why:    "a node that restarts without a key votes again, so that a second majority can form while the first holds the lock",
		remedy: "set appendonly yes with appendfsync always; or start a node that crashed only when a lease has passed",
	},
	{
		lock: quorum, found: findReplicas,
		why:    "a replica that has not got the key and is promoted votes again, so that a second majority can form",
		remedy: "let the nodes be independent masters without replicas",
	},
	{
		lock: single, found: findClock,
		why:    "set forward, the server's clock ends leases early; set back, it repeats fencing tokens where the last one was lost",
		remedy: steadyClock,
	},
	{
		lock: quorum, found: findClock,
		why:    "a node's vote ends by its own clock: set forward, the vote ends early, and a second majority can form",
		remedy: steadyClock,
	},
	{
		lock: single, found: func(f Facts) string {
			unsharded := f.is(saidMode, "cluster") && f.older(7, 0)
			return sayIf(unsharded, "it is Redis "+f.Said[saidVersion]+": this cluster has no sharded channels")
		},
		why:    "releases are published on sharded channels: without them a waiter is not notified and polls; exclusion is not concerned",
		remedy: "run Redis 7 or later",
	},
}

const steadyClock = "let NTP keep every machine's clock by slewing, and set none in one step while locks are held"

// weaknesses lists what was refused, and applies the rules of a lock. A weakness that several servers have in common is listed once.
func weaknesses(lock string, servers []Facts) []Weakness {
	all := append([]Weakness{}, refusals(lock, servers)...)
	if lock == quorum {
		all = append(all, counted(servers)...)
	}
	for _, r := range rules {
		if r.lock != "" && r.lock != lock {
			continue
		}
		for _, f := range servers {
			if what := r.found(f); what != "" {
				all = add(all, Weakness{What: what, Why: r.why, Remedy: r.remedy, Grave: r.grave, Refuses: r.refuses}, f.Node)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Weakness) int { return rank(b) - rank(a) })
	return all
}

// add adds a weakness of a node, or the node to a weakness that is there.
func add(all []Weakness, w Weakness, node string) []Weakness {
	i := slices.IndexFunc(all, func(other Weakness) bool { return other.What == w.What && other.Why == w.Why })
	if i < 0 {
		i, all = len(all), append(all, w)
	}
	all[i].Where = append(all[i].Where, node)
	return all
}

// rank is larger for what comes first.
func rank(w Weakness) int {
	switch {
	case w.Refuses:
		return 2
	case w.Grave:
		return 1
	}
	return 0
}

// counted finds servers that vote more than once: the listing of A2 names a node twice.
func counted(nodes []Facts) []Weakness {
	var all []Weakness
	byRun := make(map[string][]string)
	for _, f := range nodes {
		if f.run != "" {
			byRun[f.run] = append(byRun[f.run], f.Node)
		}
	}
	for _, f := range nodes {
		if names := byRun[f.run]; len(names) > 1 {
			delete(byRun, f.run)
			all = append(all, Weakness{
				Where: names, What: "these are one server under several addresses", Grave: true,
				Why:    "it votes more than once, so that it may be a majority with fewer servers than that",
				Remedy: "name each server once",
			})
		}
	}
	return all
}

func findEviction(f Facts) string {
	policy := f.Said[saidPolicy]
	evicting := strings.HasPrefix(policy, "allkeys-") || strings.HasPrefix(policy, "volatile-") // each lock has an expiry
	return sayIf(evicting && f.some(saidMemory), fmt.Sprintf("maxmemory is %s bytes with maxmemory-policy %s", f.Said[saidMemory], policy))
}

func findReplicas(f Facts) string {
	return sayIf(f.some(saidReplicas), "it has replicas: "+f.Said[saidReplicas])
}

func findForgetting(f Facts) string {
	switch {
	case !f.is(saidAOF, saidNo):
		return ""
	case f.is(saidSave, ""):
		return "it keeps nothing on disk"
	case f.Said[saidSave] == "":
		return "it keeps no file of its writes (appendonly no)"
	}
	return "it keeps snapshots only (appendonly no, save " + f.Said[saidSave] + ")"
}

func findLag(f Facts) string {
	lost := map[string]string{"everysec": "a second of writes at most, as a rule", saidNo: "the writes that the system delays, often 30 s"}
	fsync := f.Said[saidFsync]
	return sayIf(f.is(saidAOF, saidYes) && lost[fsync] != "", "appendfsync is "+fsync+": a crash may lose "+lost[fsync])
}

func findClock(f Facts) string {
	if f.RoundTrip == 0 || f.ClockOffset.Abs()-f.RoundTrip/2 <= timeout {
		return ""
	}
	direction := "ahead of"
	if f.ClockOffset < 0 {
		direction = "behind"
	}
	return fmt.Sprintf("its clock is %s %s this process's", f.ClockOffset.Abs().Round(100*time.Millisecond), direction)
}

// older reports whether the server told its version, and it is older.
func (f Facts) older(major, minor int) bool {
	var x, y int
	n, _ := fmt.Sscanf(f.Said[saidVersion], "%d.%d", &x, &y)
	return n == 2 && (x < major || x == major && y < minor)
}

// is reports whether the server said value.
func (f Facts) is(name, value string) bool {
	said, told := f.Said[name]
	return told && said == value
}

// some reports whether the server said a number above zero.
func (f Facts) some(name string) bool {
	n, err := strconv.ParseInt(f.Said[name], 10, 64)
	return err == nil && n > 0
}

func sayIf(holds bool, what string) string {
	if holds {
		return what
	}
	return ""
}
