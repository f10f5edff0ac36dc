package matrix

import "locklab/versions"

// strategies are the rows that there always are: the naive locks, and the versions. v0 and v1 have no lock.
func strategies() []string {
	rows := []string{naiveSETNX, byDEL, setNXPX}
	for _, version := range versions.Names()[2:] {
		if rows = append(rows, version); version == redisLock {
			rows = append(rows, withWAIT)
		}
	}
	return rows
}

// The names of strategies, as variants have them.
const (
	naiveSETNX = "naive SETNX"
	byDEL      = "SET NX PX, DEL" // released by a plain DEL
	setNXPX    = "SET NX PX"      // released by a script that compares
	mutex      = "v2"
	redisLock  = "v3"
	withWAIT   = "v3 with WAIT"
	redLock    = "v4"
)

// anomalies are the columns that there always are.
var anomalies = []string{
	lostUpdate, orphan, nonOwner, expired, pause, pauseWithToken, lostAtFailover, dataLoss, clockJump, eviction, lostReply,
}

// The names of anomalies, as experiments have them.
const (
	lostUpdate     = "lost update over instances"
	orphan         = "orphaned lock"
	nonOwner       = "unlock by a non-owner"
	expired        = "lease expired during work"
	pause          = "pause"
	pauseWithToken = "pause with fencing token"
	lostAtFailover = "lost at failover"
	dataLoss       = "restart with data loss"
	clockJump      = "clock jump"
	eviction       = "eviction"
	lostReply      = "acquire with lost reply"
)

const (
	noServer = "the lock is in the process: there is no server that could do it"
	noLease  = "the lock has no lease that could end"
	noToken  = "the lock issues no fencing token"
)

// reasons say why an anomaly cannot meet a lock.
var reasons = map[at]string{
	{mutex, orphan}:         "the lock is in the process, and dies with it",
	{mutex, nonOwner}:       "only its holder can unlock it",
	{mutex, expired}:        noLease,
	{mutex, pause}:          "a process that stops stops all its waiters with it, and there is no lease",
	{mutex, pauseWithToken}: noToken,
	{mutex, lostAtFailover}: noServer,
	{mutex, dataLoss}:       noServer,
	{mutex, clockJump}:      noServer,
	{mutex, eviction}:       noServer,
	{mutex, lostReply}:      noServer,

	{naiveSETNX, expired}:        noLease,
	{naiveSETNX, pause}:          noLease,
	{naiveSETNX, pauseWithToken}: noToken,
	{naiveSETNX, clockJump}:      "its key has no expiry that a clock could bring forward",

	{byDEL, pauseWithToken}:   noToken,
	{setNXPX, pauseWithToken}: noToken,
	{redLock, pauseWithToken}: noToken,
	{redLock, lostAtFailover}: "its nodes are independent: none takes over from another",
}

// notApplicable says why a cell cannot be tested; empty: it can.
func notApplicable(strategy, anomaly string) string { return reasons[at{strategy, anomaly}] }
