// Package locktest is the conformance suite that every strategy of the lab passes. Each case states
// the promise of package lockstrategy that it checks. A new guarantee is first a new case here.
//
// Nothing in it depends on the speed of the machine. An event that must come soon comes long before a lease of minutes ends. An event
// that must not come early is compared with the lease.
package locktest

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/redislock"
)

// Backend is one kind of lock, as the suite uses it, and what it promises beyond the others. A case about a promise
// that a backend does not make is not run on it.
type Backend struct {
	// Open opens one more client of the lock, which shares nothing with the others but the server: another process.
	Open func(t *testing.T, s Settings) Client
	// Server lets a test look at the server itself, past all clients; of a lock in the process at what it has stored. Without one, the
	// cases that look there are left out.
	Server *Server
	// InProcess is set for a lock that is in the process of its clients: no other process shares it, none of its requests can be counted or
	// cut off. The cases of these are left out.
	InProcess bool

	// What the lock promises, or how it works.
	Fenced  bool // leases have fencing tokens
	Admin   bool // Client.Admin can look at locks and free them by force
	Queued  bool // a localqueue stands in front of the lock: callers queue, leases are handed off, an owner may enter again
	Yields  bool // after its turn, a client lets other processes go first
	Queues  bool // the server queues waiters. One that has died is passed over when its lease ends
	Watches bool // a holder learns that its key was deleted long before its next renewal
	Polls   bool // waiters poll. The last request of one that dies may still be granted, and then blocks the key for one lease

	Wired  bool // Open can put a wire between the client and the server
	bubble bool // the backend was opened in a synctest bubble
}

// Settings are those of one client. Zero fields mean the strategy's defaults.
type Settings struct {
	Lease   time.Duration
	Request time.Duration // bound of a request that a server does not answer
	HandOff localqueue.HandOff
	Wire    *Wire // between this client and the server, if the case has one
}

// Client is an opened client.
type Client struct {
	lockstrategy.Strategy
	Queue *localqueue.Queue // set where Backend.Queued is
	Admin *redislock.Lock   // set where Backend.Admin is
	Close func()            // closes the strategy and its queue
	Crash func()            // cuts the client's connections for good, and is called at most once; not needed InProcess
	Sent  func() int        // returns how many commands the server has executed for this client; not needed InProcess
}

// Server is what a backend's server shows past all clients, and what can be done to it.
type Server struct {
	// Entries lists the owners that the server has under key, each with how often it has entered if that is counted.
	Entries func(t *testing.T, key string) []string
	// Forget deletes the lock and notifies nobody, as an eviction or a failover does.
	Forget func(t *testing.T, key string)
	// ForgetToken deletes the last fencing token. It is nil where the token cannot be lost while the lock is kept.
	ForgetToken func(t *testing.T, key string)
	// Listening counts the clients that wait for a notification about key. Where it is nil, the suite waits for Client.Sent to grow.
	Listening func(t *testing.T, key string) int
	// Foreign takes the key for an hour, in the name of owner, as a client of another library that has entered twice. Only backends with
	// Admin need it.
	Foreign func(t *testing.T, key, owner string)
}

// Leases of the suite: long where nothing may expire, short where something must. A long one would hide
// nothing: no case lasts until it ends.
const (
	long    = 10 * time.Minute
	short   = 2 * time.Second
	renewed = 5 * short        // a lease that may be lost by one cause only: a process that is stalled does not let it expire
	timeout = 90 * time.Second // for what must come
)

// promise is one case.
type promise struct {
	says  string
	by    func(Backend) bool // the backends that make it
	check func(trial)
}

// Run checks every promise on b, in real time: its servers are processes of their own.
func Run(t *testing.T, b Backend) {
	each(t, b, func(t *testing.T, p promise, key string) { p.check(trial{t, b, key}) })
}

// RunInBubbles checks every promise in a synctest bubble of its own, on a backend that start makes there. Its servers are part of this
// process, and all time is the bubble's. Cases whose wire hangs or is slow are left out: clients greet with a mutex locked. No time passes
// in a bubble while a goroutine waits for a mutex.
func RunInBubbles(t *testing.T, start func(t *testing.T) Backend) {
	var promised Backend
	synctest.Test(t, func(t *testing.T) { promised = start(t) })
	promised.bubble = true
	each(t, promised, func(t *testing.T, p promise, key string) {
		synctest.Test(t, func(t *testing.T) { p.check(trial{t, start(t), key}) })
	})
}

// each runs check for every promise that b makes.
func each(t *testing.T, b Backend, check func(t *testing.T, p promise, key string)) {
	promises := slices.Concat(exclusion(), waiting(), reentrance(), losses(), forced(), handOffs(), shares(), tokens(), faults(),
		unreachable())
	if b.InProcess && (b.Fenced || b.Yields) {
		t.Fatal("a Backend that is Fenced, or that Yields, is not InProcess: these promises are between processes")
	}
	if b.Server == nil && !b.InProcess {
		t.Fatal("a Backend needs a Server, or is InProcess")
	}
	name := "lock:case"
	if b.Queued { // the same servers may be checked without one at the same time
		name = "lock:queued-case"
	}
	for i, p := range promises {
		if p.by(b) {
			t.Run(p.says, func(t *testing.T) {
				t.Parallel()
				check(t, p, fmt.Sprintf("%s-%d", name, i))
			})
		}
	}
}

func everybody(Backend) bool { return true }
func served(b Backend) bool  { return b.Server != nil }
func shared(b Backend) bool  { return !b.InProcess } // by several processes
func local(b Backend) bool   { return b.InProcess }
func wired(b Backend) bool   { return b.Wired }
func hung(b Backend) bool    { return b.Wired && !b.bubble } // the wire hangs, or is slow
func fenced(b Backend) bool  { return b.Fenced }
func admin(b Backend) bool   { return b.Admin }
func queued(b Backend) bool  { return b.Queued }
func yields(b Backend) bool  { return b.Yields }

// all selects the backends that every function of the list selects.
func all(list ...func(Backend) bool) func(Backend) bool {
	return func(b Backend) bool {
		return !slices.ContainsFunc(list, func(has func(Backend) bool) bool { return !has(b) })
	}
}
