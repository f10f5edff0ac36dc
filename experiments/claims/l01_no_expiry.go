package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L01-no-expiry",
	Article: "A0, A1, A2, A3",
	Claim:   "A holder that dies without an expiry on its lock locks the key for ever; with one, until its lease ends.",
	Says:    "The first lock of each article is SETNX and DEL. A process that is restarted, or a machine that fails, in the middle of the work never comes to the DEL. The way out is an expiry.",
	Drawing: `
A  SETNX → 1  †
B                    (a lease later)  SETNX → 0   and so for everybody, for ever`,
	How:           "A takes the lock and dies, before it has read. Time passes, as long as any key has an expiry. B tries. At the end the lock is looked at: it is there, has no expiry, and nobody who lives has it.",
	Anomaly:       "orphan",
	Takes:         time.Second,
	Interleavings: orphans(naive.Compare, steps.V3, naive.SETNX),
	Check:         orphaned,
	Variants: []experiments.Variant{
		{Name: "with an expiry", Strategy: "SET NX PX", Run: walk(naive.Compare, deadHolder)},
		{Name: "v3's scripts", Strategy: "v3", Run: walk(steps.V3, deadHolder)},
		{Name: "SETNX alone", Expect: experiments.Sometimes, Strategy: "naive SETNX", Run: walk(naive.SETNX, deadHolder)},
	},
})

// deadHolder lets A die after its first command, and B try a lease later.
const deadHolder = "A A† … B B B B"

// orphaned finds locks that stay and that nobody has.
func orphaned(trial []history.Event) []history.Violation {
	return led(trial, history.Noted(trial, steps.Orphan))
}

// led adds to findings what led to them: what the lock's server was told, and who died, was refused, or got no answer.
func led(trial []history.Event, found []history.Violation) []history.Violation {
	for i, f := range found {
		var events []int
		for _, e := range trial {
			if e.Seq >= f.Events[0] {
				break
			}
			switch e.Kind {
			case history.Command, history.Die, history.Refuse, history.Fault:
				events = append(events, e.Seq)
			}
		}
		found[i].Events = append(events, f.Events...)
	}
	return found
}

// orphans asks of every order of locks whether a lock stays. The last one is the one that leaves it.
func orphans(locks ...naive.Lock) (all []experiments.Interleavings) {
	for i, lock := range locks {
		o := experiments.Interleavings{Lock: lock, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.Orphaned}
		if i == len(locks)-1 {
			o.Expect = experiments.Sometimes
		}
		all = append(all, o)
	}
	return all
}
