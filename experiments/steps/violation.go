package steps

import (
	"fmt"
	"slices"

	"locklab/lockstrategy/naive"
)

// Violation is what can be wrong with a lock at the end of an interleaving.
type Violation string

// The violations.
const (
	LostUpdate      Violation = "an update is lost"
	NonOwnerUnlock  Violation = "a client deleted another client's lock"
	Overwritten     Violation = "a client overwrote another client's lock"
	OrphanedLock    Violation = "the lock stays for ever, and no client holds it" // it has no expiry
	LeftUntilExpiry Violation = "the lock stays until its lease ends, and no client holds it"
)

var violations = []Violation{LostUpdate, NonOwnerUnlock, Overwritten, OrphanedLock, LeftUntilExpiry}

// has reports whether a position shows v. A violation that is about the end is not there before it.
func (p position) has(v Violation) bool {
	switch v {
	case NonOwnerUnlock:
		return p.unlocked
	case Overwritten:
		return p.overwritten
	case LostUpdate:
		return p.lost()
	case OrphanedLock:
		return p.over() && p.redis.lock() != "" && p.redis[naive.Key].expires == 0
	case LeftUntilExpiry:
		return p.over() && p.redis[naive.Key].expires > 0
	}
	return false
}

// follow updates, after m, which client holds the lock, and whether m took it from another client.
func (p *position) follow(before position, m Move) {
	was, is := before.redis.lock(), p.redis.lock()
	if m.Client != "" && was != "" && was != is && before.holder != m.Client {
		p.unlocked = p.unlocked || is == ""
		p.overwritten = p.overwritten || is != ""
	}
	switch {
	case is == "":
		p.holder = ""
	case was != is:
		p.holder = m.Client
	}
}

func (p position) over() bool {
	return !slices.ContainsFunc(p.clients, func(c Client) bool { return c.phase != ended })
}

// lost reports whether the counter is less than the number of confirmed updates.
func (p position) lost() bool {
	n := 0
	for i := range p.clients {
		if p.clients[i].wrote > 0 {
			n++
		}
	}
	return n > 0 && p.redis[Counter].text != fmt.Sprint(n)
}
