package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var L19 = experiments.Experiment{
	ID:       "L19-release-answers-one",
	Title:    "A release that answers 1 to any client",
	Articles: experiments.Articles{"A1", "A3"},
	Claim:    "A release script that first asks whether the key is gone answers \"released\" to any client.",
	Says: `
		The release script first asks whether the key exists. If it does not, the script sends the message of a release and answers 1.
		Only then does it ask for the owner. A1 names Redisson 3.2.3, and A3 2.7.0.`,
	Elsewhere: `
		Redisson mended that in March 2019 (https://github.com/redisson/redisson/issues/2018).`,
	Errata: []experiments.Erratum{
		{
			Article: "A1",
			What: "A1's release script answers 1, released, to any client once the key is gone. " +
				"Redisson mended that in 2019 (https://github.com/redisson/redisson/issues/2018).",
			Where: "the release script: `redis.call('publish', KEYS[2], ARGV[1])`",
		},
		{
			Article: "A3",
			What:    "A3's release script is the same: it answers 1, released, to any client once the key is gone.",
			Where:   "the release script: `如果key已经不存在`",
		},
	},
	Lesson: experiments.Lesson{
		Question: `
			A client works longer than its lease, and then releases the lock. The key has been gone for a while. What should the release
			answer?`,
		Predict: "(a) 1, because the lock is free. (b) 0. (c) That this client did not hold the lock.",
		Why: `
			It should answer (c), and the printed script answers 1. The client then believes that it held the lock to the end of its work.
			In truth another client may have held the lock in between, and nobody is told. The release is the last moment at which a client
			can learn that its work was not protected. The same script says 1 to a client that was refused and never held the lock. It also
			sends the message of a release again, which wakes waiting clients needlessly.`,
		Fix: `
			Ask for the owner first, and treat a missing owner as an error: Redisson has done so since 2019, and throws an exception. The
			release of v3 returns an error that wraps ErrLost when the lease was lost. A caller should not ignore it: its work may have
			overlapped with another client's.`,
		Limits: `
			The answer comes too late to stop a write. Renewal, the context of the lease and a fencing token act earlier (L05, L11). No update
			is lost in this run; L17-released-after-expiry shows one.`,
		Next: "L17-released-after-expiry shows A1's own trace, in which this answer hid a lost lock. L18-loser-unlocks lets a refused client " +
			"release. In `app lab step L19` you move the clients yourself.",
		Level: experiments.Medium,
	},
	Drawing: `
A  lock → yes   read 0   write 1      (lease over)   release → 1 "released"
B        lock → no                                            release → 1 "released"`,
	How: `
		A takes the lock, reads and writes, and does not release it in time. B is refused. The lease ends. Then A releases, and so does B, as a
		finally block would let it. A client that is told that it released a lock is a violation if it did not hold one.`,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
	Check:    falselyReleased,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.FalseRelease},
		{Lock: naive.RedissonOwnerFirst, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.FalseRelease},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.FalseRelease},
		{Lock: naive.Redisson, Bounds: steps.Bounds{Clients: "AB", Expiry: 1}, Violation: steps.FalseRelease, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "released in time", Run: clients.Interleaving(naive.Redisson, "A A B A A …")},
		{Name: "value compared", Run: clients.Interleaving(inFinally(naive.Compare), releasedLate)},
		{Name: "owner checked first", Run: clients.Interleaving(inFinally(naive.RedissonOwnerFirst), releasedLate)},
		{Name: "v3's scripts", Run: clients.Interleaving(inFinally(steps.V3), releasedLate)},
		{Name: "as printed", Expect: experiments.Sometimes, Run: clients.Interleaving(naive.Redisson, releasedLate)},
		{
			Name: "as printed, by a refused client", Expect: experiments.Sometimes,
			Run: clients.Interleaving(inFinally(naive.Redisson), refusedLate),
		},
	},
}

const (
	// releasedLate lets A release after its lease, and B, which was refused before, after it.
	releasedLate = "A A B A … A B"
	// refusedLate lets only B release after the lease. A has died.
	refusedLate = "A A B A† … B"
)

// inFinally is a lock whose refused clients release, too.
func inFinally(lock naive.Lock) naive.Lock {
	lock.Finally = true
	return lock
}

// falselyReleased finds clients that were told that they released the lock, after their lease or without a grant.
func falselyReleased(trial []history.Event) (found []history.Violation) {
	granted := make(map[string]int) // by owner, until every lease ends
	for _, e := range trial {
		switch {
		case e.Timeline == "time":
			clear(granted)
		case e.Kind == history.Grant:
			granted[e.Owner] = e.Seq
		case e.Kind == history.Released && e.Text == "" && granted[e.Owner] == 0:
			what := e.Timeline + " was told that it released the lock, and did not hold it"
			found = append(found, history.Violation{Key: e.Key, What: what, Events: []int{e.Seq}})
		}
	}
	return found
}
