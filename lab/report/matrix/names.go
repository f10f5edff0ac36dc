package matrix

import "locklab/lab/clients"

// strategies are the rows that there always are: the naive locks, and the versions with a lock. The names are those that variants have.
var strategies = []string{
	"naive SETNX",
	"SET NX PX, DEL", // released by a plain DEL
	"SET NX PX",      // released by a script that compares
	"v2", "v3", "v3 with WAIT", "v4", "v5", "v6", "v7", "v8",
	"Memcached add, delete",
}

// called are the rows of the versions, for people.
var called = map[string]string{
	"v2": "v2 process mutex", "v3": "v3 Redis", "v3 with WAIT": "v3 Redis with WAIT", "v4": "v4 RedLock", "v5": "v5 database",
	"v6": "v6 ZooKeeper", "v7": "v7 etcd", "v8": "v8 Memcached",
}

// anomalies are the columns that there always are, as experiments name them.
var anomalies = []string{
	"lost update over instances", "orphaned lock", "unlock by a non-owner", fixedLease, renewedLease, "pause",
	"pause with fencing token", "lost at failover", cut, "restart with data loss", "clock jump", "eviction", "acquire with lost reply",
}

// The columns that this package names in more than one place.
const (
	fixedLease   = clients.FixedLease
	renewedLease = clients.RenewedLease
	cut          = "network cut in two"
)

const (
	noServer = "the lock is in the process: there is no server that could do it"
	noLease  = "the lock has no lease that could end"
	noToken  = "the lock issues no fencing token"

	noRenewal = "the lock does not renew its lease"

	noSides    = "it has one server: there is no other side that could grant the lock"
	noFailover = "its servers are independent: none takes over from another"
	waitIsV3   = "WAIT changes only what a failover does. In this cell the lock behaves as v3 does: see its row"
)

// reason says why an anomaly cannot meet a lock; empty: it can.
func (where at) reason() string {
	if where.strategy == "v3 with WAIT" && where.anomaly != "lost at failover" && where.anomaly != cut {
		return waitIsV3
	}
	return reasons[where]
}

// reasons are those of single cells.
var reasons = map[at]string{
	{"v2", "orphaned lock"}:            "the lock is in the process, and dies with it",
	{"v2", "unlock by a non-owner"}:    "only its holder can unlock it",
	{"v2", fixedLease}:                 noLease,
	{"v2", renewedLease}:               noLease,
	{"v2", "pause"}:                    "when the process stops, its waiters stop, too, and there is no lease",
	{"v2", "pause with fencing token"}: noToken,
	{"v2", "lost at failover"}:         noServer,
	{"v2", "restart with data loss"}:   noServer,
	{"v2", "clock jump"}:               noServer,
	{"v2", "eviction"}:                 noServer,
	{"v2", "acquire with lost reply"}:  noServer,

	{"naive SETNX", fixedLease}:                 noLease,
	{"naive SETNX", renewedLease}:               noLease,
	{"SET NX PX, DEL", renewedLease}:            noRenewal,
	{"SET NX PX", renewedLease}:                 noRenewal,
	{"Memcached add, delete", renewedLease}:     noRenewal,
	{"naive SETNX", "pause"}:                    noLease,
	{"naive SETNX", "pause with fencing token"}: noToken,
	{"naive SETNX", "clock jump"}:               "its key has no expiry that a clock could bring forward",

	{"SET NX PX, DEL", "pause with fencing token"}: noToken,
	{"SET NX PX", "pause with fencing token"}:      noToken,
	{"v4", "pause with fencing token"}:             noToken,
	{"v4", "lost at failover"}:                     "its nodes are independent: none takes over from another",
	{"v8", "pause with fencing token"}:             noToken,
	{"v8", "lost at failover"}:                     noFailover,

	{"Memcached add, delete", "pause with fencing token"}: noToken,
	{"Memcached add, delete", "lost at failover"}:         noFailover,

	{"v2", cut}:                    noServer,
	{"v5", cut}:                    noSides,
	{"v8", cut}:                    noSides,
	{"Memcached add, delete", cut}: noSides,

	{"v5", "eviction"}:   "a database deletes no rows to make room",
	{"v6", "eviction"}:   "ZooKeeper deletes no nodes to make room",
	{"v7", "eviction"}:   "etcd deletes no keys to make room: when its quota is used up, it refuses to write",
	{"v6", "clock jump"}: "ZooKeeper counts its sessions by a clock that nobody can set",
	{"v7", "clock jump"}: "etcd counts its leases by a clock that nobody can set",
}
