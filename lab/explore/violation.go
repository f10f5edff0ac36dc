package explore

import (
	"fmt"
	"slices"

	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// Violation is what can be wrong with a lock at the end of an interleaving. It is the name of a [history.Mark]: it never changes.
type Violation string

// The violations.
const (
	LostUpdate      Violation = "an update is lost"
	NonOwnerUnlock  Violation = "a client deleted another client's lock"
	Overwritten     Violation = "a client overwrote another client's lock"
	OrphanedLock    Violation = "the lock stays for ever, and no client holds it" // it has no expiry
	LeftUntilExpiry Violation = "the lock stays until its lease ends, and no client holds it"
	FalseRelease    Violation = "a client learns that it released the lock, and did not hold it"
	NonOwnerRenewal Violation = "a client extended the lease of another client's lock"
)

// Mark is what is recorded where the violation is shown.
func (v Violation) Mark() history.Mark { return history.Mark{Name: string(v)} }

var violations = []Violation{LostUpdate, NonOwnerUnlock, Overwritten, OrphanedLock, LeftUntilExpiry, FalseRelease, NonOwnerRenewal}

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
		return p.over() && p.redis.lock() != "" && !p.expires()
	case LeftUntilExpiry:
		return p.over() && p.redis.lock() != "" && p.expires()
	case FalseRelease:
		return p.falseRelease
	case NonOwnerRenewal:
		return p.extended
	}
	return false
}

// why says how a violation of now came about: by m, after which a position showed it for the first time.
func (v Violation) why(now, before position, m Move) string {
	holder := before.holder
	if holder == "" {
		holder = "Nobody"
	}
	switch v {
	case NonOwnerUnlock:
		return fmt.Sprintf("%s held the lock, and %s deleted it.", holder, m.Client)
	case Overwritten:
		return fmt.Sprintf("%s held the lock, and %s replaced its key.", holder, m.Client)
	case NonOwnerRenewal:
		return fmt.Sprintf("%s held the lock, and %s extended its lease.", holder, m.Client)
	case FalseRelease:
		return fmt.Sprintf("%s held the lock when %s released it.", holder, m.Client)
	case LostUpdate:
		return fmt.Sprintf("%d clients have written the counter, and it shows %s.", now.writers(), now.redis[Counter].text)
	case OrphanedLock, LeftUntilExpiry:
		return "Every client has ended, and the key is still there."
	}
	return ""
}

// expires reports whether the lock, if there is one, ends by itself: by the server's clock or by those of the clients.
func (p position) expires() bool {
	return p.redis[articlelock.Key].expires > 0 || p.clients[0].lock.ClientTime
}

// follow updates, after m, which client holds the lock, and whether m took it from another client.
func (p *position) follow(before position, m Move) {
	was, is := before.redis.lock(), p.redis.lock()
	if m.Client != "" && before.holder != "" && before.holder != m.Client {
		p.unlocked = p.unlocked || was != is && is == ""
		p.overwritten = p.overwritten || was != is && is != ""
		left := before.redis[articlelock.Key].expires
		p.extended = p.extended || was == is && left > 0 && p.redis[articlelock.Key].expires >= left // time has passed, so less should be left
	}
	p.falseRelease = p.falseRelease || before.holder != m.Client && p.confirmed(before, m.Client)
	switch {
	case is == "" || m.Client == "" && p.expires():
		p.holder = ""
	case was != is:
		p.holder = m.Client
	}
}

// confirmed reports whether the client's last move has ended its release, and the server's reply says that it held the lock.
func (p *position) confirmed(before position, client string) bool {
	for i, c := range p.clients {
		if c.Name == client && before.clients[i].phase == releasing && c.phase == ended && c.how != dead {
			return !c.notHeld && c.lock.Release[len(c.lock.Release)-1].Then != nil
		}
	}
	return false
}

func (p position) over() bool {
	return !slices.ContainsFunc(p.clients, func(c Client) bool { return c.phase != ended })
}

// lost reports whether the counter is less than the number of confirmed updates.
func (p position) lost() bool {
	n := p.writers()
	return n > 0 && p.redis[Counter].text != fmt.Sprint(n)
}

// writers is how many clients have written the counter.
func (p position) writers() (n int) {
	for i := range p.clients {
		if p.clients[i].wrote > 0 {
			n++
		}
	}
	return n
}
