// The model check lets processes that follow a random program compete for locks while a random plan of faults goes on. It
// records what happened for package history.
//
// A run lives in a testing/synctest bubble, with its Redis (miniredis) and its network in memory. So leases of minutes take
// no time, and nothing depends on the speed of the machine. The seed decides the program, the plan and the time that each
// message takes. Because messages take different times, little depends on the scheduler. See runModel for how a
// seed reproduces a run.
//
// What is NOT modelled: a process that stands still while others run, and more than one server.
package redislock_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"locklab/lab/testenv/lockmodel"
	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
)

// program is what a run does. It follows from its seed, and from whether there is a server.
type program struct {
	Seed      uint64
	Lease     time.Duration
	HandOff   localqueue.HandOff
	Processes [][]script // by process, by caller
	Plan      []fault
}

type script []turn

// turn is one try to get a key, and what is done with it.
type turn struct {
	pause   time.Duration // before it
	key     string
	name    string // of the request: lockmodel.Unbounded, lockmodel.Explicit or none
	note    string // how it is asked for
	options []lockstrategy.Option
	cancel  time.Duration // the wait is canceled after this; 0: it is not
	hold    time.Duration
	again   bool // enter again while holding it
	quits   bool // stop when the lease is lost, as a good holder does
}

// deed is what a fault does.
type deed string

const (
	deleted   deed = "key deleted"
	forgotten deed = "key forgotten with all that belongs to it"
	forced    deed = "forced unlock"
	jumped    deed = "the server's expiries jump ahead"
	cut       deed = "cut"
	lost      deed = "an answer lost"
	slow      deed = "slow answers"
	late      deed = lockmodel.LateRequest
)

// fault is one thing that goes wrong.
type fault struct {
	at      time.Duration
	deed    deed
	key     string        // of a fault of the server
	process int           // of trouble in the network
	lasts   time.Duration // or how late
}

func (f fault) server() bool { return f.key != "" }

// newProgram returns the program of seed. Without a server there is one process, and nothing goes wrong.
func newProgram(seed uint64, server bool) program {
	rng := rand.New(rand.NewPCG(seed, 0))
	p := program{Seed: seed, Lease: pick(rng, 300*time.Millisecond, 1500*time.Millisecond, 12*time.Second)}
	p.HandOff = localqueue.HandOff{Count: pick(rng, 0, 1, 2, 3), Time: pick(rng, 0, 5*time.Millisecond)}
	keys := []string{"lock:a", "lock:{b}:7"}[:1+rng.IntN(2)]
	processes := 1
	if server {
		processes = 2 + rng.IntN(2)
	}
	for range processes {
		scripts := make([]script, 2+rng.IntN(2))
		for i := range scripts {
			for range 2 + rng.IntN(3) {
				scripts[i] = append(scripts[i], p.turn(rng, keys))
			}
		}
		p.Processes = append(p.Processes, scripts)
	}
	if server {
		p.plan(rng, keys)
	}
	return p
}

func (p *program) turn(rng *rand.Rand, keys []string) turn {
	t := turn{
		pause: upTo(rng, 20*time.Millisecond), key: pick(rng, keys...),
		hold: upTo(rng, 10*time.Millisecond), again: rng.IntN(5) == 0, quits: rng.IntN(3) > 0,
	}
	if rng.IntN(4) == 0 {
		t.hold = upTo(rng, p.Lease*3/2)
	}
	d := 10*time.Millisecond + upTo(rng, pick(rng, 30*time.Millisecond, p.Lease))
	switch rng.IntN(10) {
	case 0:
		t.note, t.options = "once", []lockstrategy.Option{lockstrategy.TryOnce()}
	case 1:
		t.note, t.options = fmt.Sprintf("within %s", d), []lockstrategy.Option{lockstrategy.WaitAtMost(d)}
	case 2:
		t.name, t.note, t.options = lockmodel.Explicit, "lease of "+d.String(), []lockstrategy.Option{lockstrategy.LeaseFor(d)}
	case 3:
		t.note, t.options = fmt.Sprintf("at most %s", d), []lockstrategy.Option{lockstrategy.RenewAtMost(d)}
	case 4:
		t.note, t.cancel = fmt.Sprintf("canceled after %s", d), d
	default:
		t.name = lockmodel.Unbounded
	}
	if t.name == lockmodel.Explicit {
		t.hold = upTo(rng, 2*d)
	}
	return t
}

// plan decides what goes wrong: in every fourth run nothing.
func (p *program) plan(rng *rand.Rand, keys []string) {
	long := pick(rng, 60*time.Millisecond, p.Lease)
	for range rng.IntN(4) * (1 + rng.IntN(2)) {
		f := fault{at: upTo(rng, long), deed: pick(rng, deleted, forgotten, forced, jumped, cut, cut, lost, lost, lost, slow, late)}
		switch f.deed {
		case deleted, forgotten, forced, jumped:
			f.key = pick(rng, keys...)
		default:
			f.process = rng.IntN(len(p.Processes))
			f.lasts = upTo(rng, pick(rng, 20*time.Millisecond, p.Lease/2, 2*p.Lease, 2*p.Lease))
		}
		p.Plan = append(p.Plan, f)
	}
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// upTo is a duration that no other is likely to equal.
func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	return 1 + time.Duration(rng.Int64N(int64(d)))
}
