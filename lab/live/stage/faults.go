package stage

import (
	"fmt"
	"slices"
	"strings"

	"locklab/lab/history"
)

// leaseEnds is the end of a lease that nobody has recorded: another client has got the lock.
func (p *player) leaseEnds() {
	says := p.owner + "'s lease ends while it works."
	switch p.stopped[p.owner] {
	case "paused":
		says = p.owner + "'s lease ends, because a paused client renews nothing."
	case "dead":
		says = p.owner + "'s lease ends."
	}
	p.step(says, false)
	p.freed()
	p.beat(stays + travels)
}

// freed is a lock without its owner.
func (p *player) freed() {
	p.owner = ""
	p.level(0)
	p.looks()
}

// happens is a fault, its end, or a note.
func (p *player) happens(a act) {
	says := a.Timeline + " " + a.Text
	isClient := slices.Contains(p.cast.clients, a.Timeline)
	switch {
	case a.Kind == history.Fault && isClient:
		p.stopped[a.Timeline] = "paused"
		says = a.Timeline + "'s process stops for a while."
	case a.Kind == history.Heal && isClient:
		delete(p.stopped, a.Timeline)
		says = a.Timeline + " goes on where it stopped."
	case a.Kind == history.Fault && a.Timeline == "master":
		p.set("server-lock", "dead", "killed")
		says = "The master is killed."
	case a.Kind == history.Fault && strings.HasPrefix(a.Timeline, "replication"):
		p.cut = true
		p.set("cut", "bad", "✗")
		says = "The lab cuts the replication: the replica gets nothing."
	case takesOver(a.Event):
		p.server, p.owner = "lock2", map[bool]string{false: p.owner}[p.cut]
		p.set("server-lock2", "promoted", "new master")
		says = "The replica becomes the master. It has never had the key."
		if p.owner != "" {
			says = "The replica becomes the master, and has the key."
		}
	case isTime(a.Event):
		p.timePasses(a)
		return
	case a.Timeline == "time":
		says = "Time " + a.Text + "."
	default:
		says = strings.TrimSuffix(says, ".") + "."
	}
	p.still(a, says)
}

// takesOver reports whether a replica becomes the master.
func takesOver(e history.Event) bool { return strings.HasPrefix(e.Text, "is the master now") }

// isTime reports whether a moment ends.
func isTime(e history.Event) bool {
	return e.Kind == history.Note && (e.Name == history.LeaseEnds || strings.HasPrefix(e.Text, "passes"))
}

// timePasses ends the lease of the lock, if it has one.
func (p *player) timePasses(a act) {
	switch {
	case p.owner == "":
		p.still(a, "Time passes.")
	case !p.expires:
		p.still(a, fmt.Sprintf("Time passes. The key has no expiry, so it stays %s's.", p.owner))
	default:
		p.begin(a, fmt.Sprintf("Time passes, and %s's lease ends.", p.owner))
		p.freed()
		p.beat(stays + travels)
	}
}
