package steps

import (
	"fmt"

	"locklab/lockstrategy/naive"
)

// Violation is what can be wrong with a lock at the end of an order.
type Violation string

// What can be wrong.
const (
	LostUpdate Violation = "an update is lost"
	Orphaned   Violation = Orphan // for ever: it has no expiry
	Left       Violation = Behind // until its lease ends
	Foreign    Violation = "a client deleted another's lock"
	Stolen     Violation = "a client overwrote another's lock"
)

// breaches are all of them.
var breaches = []Violation{LostUpdate, Foreign, Stolen, Orphaned, Left}

// has reports whether a position shows b. What is about the end is not there before it.
func (p position) has(b Violation) bool {
	switch b {
	case Foreign:
		return p.foreign
	case Stolen:
		return p.stolen
	case LostUpdate:
		return p.lost()
	case Orphaned:
		return p.over() && p.redis.locked() && p.redis.expiry[naive.Key] == 0
	case Left:
		return p.over() && p.redis.locked() && p.redis.expiry[naive.Key] > 0
	}
	return false
}

// follow sees after m whose the lock is now, and whether it was another's before.
func (p *position) follow(before position, m Move) {
	was, is := before.redis.lock(), p.redis.lock()
	if m.Who != "" && was != "" && was != is && before.holder != m.Who {
		p.foreign = p.foreign || is == ""
		p.stolen = p.stolen || is != ""
	}
	switch {
	case is == "":
		p.holder = ""
	case was != is:
		p.holder = m.Who
	}
}

// over reports whether everybody has come to an end.
func (p position) over() bool {
	for i := range p.walkers {
		if p.walkers[i].phase != ended {
			return false
		}
	}
	return true
}

// lost reports whether the counter is behind the updates that were confirmed.
func (p position) lost() bool {
	n := 0
	for i := range p.walkers {
		if p.walkers[i].wrote > 0 {
			n++
		}
	}
	return n > 0 && p.redis.strings[Counter] != fmt.Sprint(n)
}
