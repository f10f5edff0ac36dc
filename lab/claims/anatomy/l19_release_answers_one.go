package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L19 = Experiments.Add(lab.Experiment{
	ID:       "L19-release-answers-one",
	Articles: lab.Articles{"A1", "A3"},
	Claim:    "A release script that first asks whether the key is gone answers \"released\" to any client.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 5 * time.Second},
	Check:    falselyReleased,
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.FalseRelease},
		{Lock: articlelock.RedissonOwnerFirst, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.FalseRelease},
		{Lock: explore.V3, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.FalseRelease},
		{
			Lock: articlelock.Redisson, Bounds: explore.Bounds{Clients: "AB", Expiry: 1},
			Violation: explore.FalseRelease, Expect: lab.Sometimes,
		},
	},
	Variants: []lab.Variant{
		{Name: "released in time", Run: clients.Interleaving(articlelock.Redisson, "A A B A A …")},
		{Name: "value compared", Run: clients.Interleaving(inFinally(articlelock.Compare), releasedLate)},
		{Name: "owner checked first", Run: clients.Interleaving(inFinally(articlelock.RedissonOwnerFirst), releasedLate)},
		{Name: "v3's scripts", Run: clients.Interleaving(inFinally(explore.V3), releasedLate)},
		{Name: "as printed", Expect: lab.Sometimes, Run: clients.Interleaving(articlelock.Redisson, releasedLate)},
		{
			Name: "as printed, by a refused client", Expect: lab.Sometimes,
			Run: clients.Interleaving(inFinally(articlelock.Redisson), refusedLate),
		},
	},
})

const (
	// releasedLate lets A release after its lease, and B, which was refused before, after it.
	releasedLate = "A A B A … A B"
	// refusedLate lets only B release after the lease. A has died.
	refusedLate = "A A B A† … B"
)

// inFinally is a lock whose refused clients release, too.
func inFinally(lock articlelock.Lock) articlelock.Lock {
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
