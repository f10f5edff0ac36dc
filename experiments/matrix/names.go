package matrix

// strategies are the rows that there always are, from the weakest to the strongest.
var strategies = []string{naiveSETNX, byDEL, setNXPX, mutex, redisLock, withWAIT, redLock}

// The names of strategies, as arms have them.
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
	lostUpdate, orphan, foreignUnlock, leaseOverrun, pause, pauseWithFence, lostAtFailover, amnesia, clockJump, eviction, unanswered,
}

// The names of anomalies, as experiments have them.
const (
	lostUpdate     = "lost update over instances"
	orphan         = "orphan"
	foreignUnlock  = "foreign unlock"
	leaseOverrun   = "lease overrun"
	pause          = "pause"
	pauseWithFence = "pause with fence"
	lostAtFailover = "lost at failover"
	amnesia        = "amnesiac restart"
	clockJump      = "clock jump"
	eviction       = "eviction"
	unanswered     = "unanswered acquire"
)

const (
	noServer = "the lock is in the process: there is no server that could do it"
	noLease  = "the lock has no lease that could end"
	noFence  = "the lock issues no fence"
)

// reasons say why an anomaly cannot meet a lock.
var reasons = map[at]string{
	{mutex, orphan}:         "the lock is in the process, and dies with it",
	{mutex, foreignUnlock}:  "nobody but its holder can unlock it",
	{mutex, leaseOverrun}:   noLease,
	{mutex, pause}:          "a process that stops has all its waiters stop with it, and there is no lease",
	{mutex, pauseWithFence}: noFence,
	{mutex, lostAtFailover}: noServer,
	{mutex, amnesia}:        noServer,
	{mutex, clockJump}:      noServer,
	{mutex, eviction}:       noServer,
	{mutex, unanswered}:     noServer,

	{naiveSETNX, leaseOverrun}:   noLease,
	{naiveSETNX, pause}:          noLease,
	{naiveSETNX, pauseWithFence}: noFence,
	{naiveSETNX, clockJump}:      "its key has no expiry that a clock could bring forward",

	{byDEL, pauseWithFence}:   noFence,
	{setNXPX, pauseWithFence}: noFence,
	{redLock, pauseWithFence}: noFence,
	{redLock, lostAtFailover}: "its nodes are independent: none takes over from another",
}

// notApplicable says why a cell cannot be tested; empty: it can.
func notApplicable(strategy, anomaly string) string { return reasons[at{strategy, anomaly}] }
