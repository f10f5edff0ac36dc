package lockstrategy

import "time"

// The yield rule: how processes take turns without a queue between them (docs/decisions/0014-the-yield-rule.md). A turn is one grant and
// its hand-offs.
//
//  1. The release at the end of a turn notifies the processes that wait, and says how many they are: [Lease.Listeners].
//  2. The next caller of this process lets as many releases by other processes pass before it competes: [Request.Yield].
//  3. That caller probes when no release is notified for a while: it tries once. So a listener that does not want the key, or has died,
//     costs milliseconds.
//  4. A process that has not had a turn competes freely. So do Redisson's clients: they listen and publish as well.
//  5. A process remembers its debt for debtKept, for a caller that comes soon after the turn.
//  6. Where listeners cannot be counted, they poll. Then a process pauses for a little more than one poll interval. It does so only after
//     it has used up the bounds of a turn, because each pause costs time (docs/decisions/0018-the-other-backends.md).
//
// The cohort keeps the debt of each key. The waiter of the caller that competes pays it.

// Unknown is the number of listeners where the backend cannot tell it.
const Unknown = -1

const (
	// A caller that yields to n processes probes after n times probeAfter without a release. It does so after longestProbe at the latest
	// (row 8 × 1 of docs/benchmark.md).
	probeAfter   = 3 * time.Millisecond
	longestProbe = 50 * time.Millisecond

	debtKept = 100 * time.Millisecond // row 8 × 1 of docs/benchmark.md
)

// HandOff bounds how long a process may keep a key among its own callers before other processes get their turn. Zero fields mean
// the defaults ("Sustained" in docs/benchmark.md). The bounds are checked at a release: a holder that keeps the lease longer is not
// interrupted.
type HandOff struct {
	Count int           // leases in a row; 0: 128, 1: no hand-off. Where there are fencing tokens a turn has 256 at most
	Time  time.Duration // since the key came to the process; 0: 100 ms
}

// turn is the time for which a process has a key. It is one lease of the strategy behind a [Cohort], and goes from one holder to the next.
// The cohort's mutex guards it.
type turn struct {
	granted *Lease
	private bool // granted with [LeaseFor] or [RenewAtMost]: never handed off
	began   time.Time
	fresh   time.Duration // what was left of the lease when it was granted
	forget  func() bool   // stops looking for its loss
	holders int           // so far
	holder  *holder       // nil: the lease is on its way to the next one
}

// mayPass reports whether the lease may be handed off. With less than half of its time left it is released instead.
func (t *turn) mayPass(bounds HandOff) bool {
	end := t.granted.Until()
	within := t.holders < bounds.Count && time.Since(t.began) < bounds.Time
	numbered := t.granted.token == 0 || t.holders < 1<<tokenBits
	sound := t.granted.Context().Err() == nil && (end.IsZero() || time.Until(end) > t.fresh/2)
	return within && numbered && sound && !t.private
}

// debt is what a process owes the other processes that want one key.
type debt struct {
	releases int     // that the next caller lets pass, or Unknown
	used     HandOff // by turns since the process last paused; only where listeners cannot be counted
}

// add notes a turn that has ended: how many listeners its release has notified, and what it has used of its bounds.
func (d *debt) add(listeners int, used, bounds HandOff) {
	if listeners != Unknown {
		d.releases = listeners
		return
	}
	d.used.Count += used.Count
	d.used.Time += used.Time
	if d.used.Count >= bounds.Count || d.used.Time >= bounds.Time {
		d.releases, d.used = Unknown, HandOff{}
	}
}

// take gives the debt to the caller that competes.
func (d *debt) take() (releases int) {
	releases, d.releases = d.releases, 0
	return releases
}

// giveBack takes it back from a caller that failed. That caller may have left before the others went first, so the next one yields. It owes
// half, and one at least: callers that leave early do not keep their process from a free lock. A pause is not owed twice.
func (d *debt) giveBack(releases int) {
	if d.releases == 0 && releases > 0 {
		d.releases = (releases + 1) / 2
	}
}

func (d *debt) none() bool { return *d == debt{} }

// yielding is a caller that lets releases by other processes pass.
type yielding struct {
	releases int
	probe    time.Duration // how long it waits for the next of them
}

func yieldTo(releases int) yielding {
	return yielding{releases, min(time.Duration(max(1, releases))*probeAfter, longestProbe)}
}

// paid reports whether enough releases have passed since this process released last.
func (y yielding) paid(passed int) bool { return passed >= y.releases }
