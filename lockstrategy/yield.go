package lockstrategy

import (
	"time"

	"locklab/lockstrategy/pubsub"
)

// The yield rule: how processes take turns without a queue between them (docs/decisions/0014-the-yield-rule.md). A turn is one grant and
// its hand-offs (queue.go).
//
//  1. The release at the end of a turn notifies the other processes that listen. Their number is the debt of this process.
//  2. The next caller of the process takes the debt, unless it uses [TryOnce]. It lets as many releases by other processes pass before it
//     asks the server.
//  3. The caller probes: if no message wakes it for a while, it asks the server before the debt is paid. If the key is held then, each
//     release that follows starts that time again. When the debt is paid, the caller asks immediately. So a listener that does not
//     want the key, or has died, costs milliseconds.
//  4. A process that has not had a turn has no debt, and competes freely. Redisson's clients never yield. Their subscriptions and releases
//     count like those of our processes.
//  5. The debt ends debtKept after the turn. Until then a caller that fails gives it back, for the next one.
//  6. Where listeners cannot be counted, the other processes poll. Then the debt is one pause, a little longer than their poll interval. A
//     process owes it when its turns since the last pause add up to the bounds of one turn, because each pause costs time
//     (docs/decisions/0018-the-other-backends.md).
//
// The queue of a key keeps the [debt]. The waiter of the caller that competes keeps it as [yielding], until it is paid.

// Unknown is the number of listeners where the backend cannot count them.
const Unknown = pubsub.Unknown

const (
	probeAfter   = 3 * time.Millisecond   // for each release of the debt (row 8 × 1 of docs/benchmark.md)
	longestProbe = 50 * time.Millisecond  // the same, at most
	debtKept     = 100 * time.Millisecond // row 8 × 1 of docs/benchmark.md
)

// debt is the debt of a process to the other processes that want one key. The cohort's mutex guards it.
type debt struct {
	releases int           // by other processes, that the next caller lets pass; Unknown: one pause
	since    time.Time     // the end of the turn
	leases   int           // that the process has had since its last pause; only where listeners are Unknown
	used     time.Duration // the time of these leases
}

// turnEnded sets the debt after a turn. listeners is the number of processes that its release has notified.
func (d *debt) turnEnded(listeners, leases int, used time.Duration, bounds HandOff) {
	d.since = time.Now()
	if listeners != Unknown {
		d.releases = listeners
		return
	}
	d.leases += leases
	d.used += used
	if d.leases >= bounds.Count || d.used >= bounds.Time {
		d.releases, d.leases, d.used = Unknown, 0, 0
	}
}

// take gives the debt to the caller that competes.
func (d *debt) take() (releases int) {
	if d.keptFor() > 0 {
		releases = d.releases
	}
	d.releases = 0
	return releases
}

// giveBack returns the debt of a caller that failed, perhaps before the other processes had their turns. It ends debtKept after the turn
// all the same. So callers that leave early do not keep their process from a free lock for longer.
func (d *debt) giveBack(releases int) {
	if d.releases == 0 {
		d.releases = releases
	}
}

// keptFor is the time for which the debt is still kept. 0: there is none.
func (d *debt) keptFor() time.Duration {
	if d.releases == 0 && d.leases == 0 {
		return 0
	}
	return max(0, debtKept-time.Since(d.since))
}

// yielding is the debt in the hands of one caller: the number of releases by other processes that it lets pass, or Unknown.
type yielding int

// listens reports whether the caller counts releases.
func (y yielding) listens() bool { return y > 0 }

// pause is the time until the caller tries, unless the debt is paid before. poll is the poll interval of the other processes.
func (y yielding) pause(poll time.Duration) time.Duration {
	if y == Unknown {
		return poll + poll/5
	}
	return min(time.Duration(y)*probeAfter, longestProbe)
}

// paid reports whether enough releases have passed since this process released last.
func (y yielding) paid(passed int) bool { return passed >= int(y) }
