package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/experiments/matrix"
)

// Conclusions say which lock to take when, and whether the articles' rankings hold. Each follows from cells: one whose cells are empty says
// what is missing.
func (c Comparison) Conclusions() []string {
	return []string{c.damage(), c.failover(), c.fastest(), c.noServer(), c.efficiency(), c.dead(), c.a3(), c.a4(), c.a2()}
}

// in is the locks of which a cell of the matrix has a state, and the experiments that show it.
func (c Comparison) in(state matrix.State, anomaly string) (names, by []string) {
	for _, l := range c.Locks {
		if cell := c.matrix.Cell(l.Version, anomaly); cell.State == state {
			names = append(names, l.Name())
			if len(cell.Shown) > 0 && !slices.Contains(by, cell.Shown[0].Experiment) {
				by = append(by, cell.Shown[0].Experiment)
			}
		}
	}
	return names, by
}

const (
	paused    = "pause"
	checked   = "pause with fencing token"
	failover  = "lost at failover"
	benchmark = "[benchmark](benchmark.md)"
)

// damage says which lock to take where two holders would damage data.
func (c Comparison) damage() string {
	safe, by := c.in(matrix.NoViolation, checked)
	broken, byPause := c.in(matrix.Violated, paused)
	if len(safe) == 0 || len(broken) == 0 {
		return "Which lock to take where two holders damage data was not tested."
	}
	return fmt.Sprintf("Where two holders damage data, check the fencing token at the resource. "+
		"With the token no violation was seen with %s (%s). "+
		"Without it a pause violated %s (%s).", matrix.List("and", safe...), links(by), matrix.List("and", broken...), links(byPause))
}

// failover says what the death of a leader costs.
func (c Comparison) failover() string {
	var times, by []string
	for _, l := range c.Locks {
		if l.Gap.Known {
			times, by = append(times, fmt.Sprintf("%s with %s", l.Gap.Text, l.Version)), append(by, l.Gap.By...)
		}
	}
	lost, byLost := c.in(matrix.Violated, failover)
	kept, byKept := c.in(matrix.NoViolation, failover)
	if len(times) == 0 {
		return "What the death of a leader costs was not tested."
	}
	var text string
	if len(kept) > 0 {
		text = fmt.Sprintf("Where the lock must survive a server's death, take %s. No failover granted it twice (%s). ",
			matrix.List("or", kept...), links(byKept))
	}
	if len(lost) > 0 {
		text += fmt.Sprintf("A failover granted the lock twice with %s (%s). ", matrix.List("and", lost...), links(byLost))
	}
	return text + fmt.Sprintf("After the leader's death no lock was granted for %s (%s).", matrix.List("and", times...), links(by))
}

// noise is a ratio below which two times are called equal.
const noise = 1.25

// fastest names the locks with the shortest times.
func (c Comparison) fastest() string {
	alone := c.least(func(l Lock) (toV3 Cell) { return l.Alone })
	burst := c.least(func(l Lock) (toV3 Cell) { return l.ToV3 })
	if alone == "" || burst == "" {
		return "Which lock is the fastest was not measured."
	}
	return fmt.Sprintf("Without contention the fastest is %s. For a burst it is %s (%s).", alone, burst, benchmark)
}

// least names the fastest lock with its ratio to v3, and the locks that are as fast; empty: none was measured.
func (c Comparison) least(of func(Lock) (toV3 Cell)) string {
	var near []string
	shortest, text := math.Inf(1), ""
	for _, l := range c.Locks {
		if ratio := of(l); ratio.Known && ratio.Value < shortest {
			if shortest, text = ratio.Value, l.Name(); shortest != 1 { // 1: it is v3 itself
				text += fmt.Sprintf(" (%s × the time of v3)", ratio.Text)
			}
		}
	}
	for _, l := range c.Locks {
		if ratio := of(l); ratio.Known && ratio.Value > shortest && ratio.Value <= noise*shortest {
			near = append(near, l.Name())
		}
	}
	if len(near) > 0 {
		text += fmt.Sprintf(". With %s it is at most %.0f %% more", matrix.List("and", near...), 100*(noise-1))
	}
	return text
}

// noServer says what the lock costs that needs no further server.
func (c Comparison) noServer() string {
	l := c.lock("v5")
	if !l.Alone.Known || !l.ToV3.Known {
		return "What the lock in the database costs was not measured."
	}
	return fmt.Sprintf("Where there is a database and no other server, take %s. "+
		"Without contention it takes %s × the time of v3, and %s × for a burst (%s). "+
		"These times are those of a log setting that can lose locks in a crash.",
		l.Name(), l.Alone.Text, l.ToV3.Text, benchmark)
}

// efficiency names the locks that issue no token, and what violated them.
func (c Comparison) efficiency() string {
	var names, by []string
	for _, l := range c.Locks {
		if l.Token == "" && len(l.Violated.By) > 0 {
			names, by = append(names, l.Name()), append(by, l.Violated.By...)
		}
	}
	if len(names) == 0 {
		return "No violation of a lock without a fencing token was shown."
	}
	slices.Sort(by)
	return fmt.Sprintf("These locks issue no fencing token: %s. Take one of them only where two holders waste work and damage nothing (%s).",
		matrix.List("and", names...), links(slices.Compact(by)))
}

// dead says how long the key of a dead holder stays locked.
func (c Comparison) dead() string {
	var known []Lock
	for _, l := range c.Locks {
		if l.Dead.Known {
			known = append(known, l)
		}
	}
	if len(known) == 0 {
		return "How long a dead holder's key stays locked was not tested."
	}
	slices.SortFunc(known, func(a, b Lock) int { return cmp.Compare(a.Dead.Value, b.Dead.Value) })
	soonest, latest := known[0], known[len(known)-1]
	return fmt.Sprintf("With a lease of one second, the key of a killed holder was locked for %s to %s. The longest time is that of %s (%s).",
		soonest.Dead.Text, latest.Dead.Text, latest.Name(), links(latest.Dead.By))
}

// a3 checks A3: where a lock must not be granted twice, not Redis but ZooKeeper or etcd.
func (c Comparison) a3() string {
	const says = "A3 puts ZooKeeper and etcd before Redis where a lock must not be granted twice. "
	return says + c.better([]string{"v6", "v7"}) + " " + c.refusing([]string{"v6", "v7"}) + " " + c.butPause("v6", "v7")
}

// refusing says whether v3 grants locks on the side of the minority, and none of others does.
func (c Comparison) refusing(others []string) string {
	redis := c.lock("v3").Minority
	holds := redis.Value > 0
	for _, v := range others {
		other := c.lock(v).Minority
		if !redis.Known || !other.Known {
			return fmt.Sprintf("For a partition this is not decided: v3 or %s was not tested.", v)
		}
		holds = holds && other.Value == 0
	}
	if !holds {
		return fmt.Sprintf("For a partition this **does not hold** (%s).", links(redis.By))
	}
	return fmt.Sprintf("For a partition this **holds**: the side of the minority is granted locks by v3, and not by %s (%s).",
		matrix.List("and", others...), links(redis.By))
}

// better says whether a failover violates v3 and none of others.
func (c Comparison) better(others []string) string {
	redis := c.matrix.Cell("v3", failover)
	var by []string
	for _, s := range redis.Shown {
		by = append(by, s.Experiment)
	}
	for _, v := range others {
		other := c.matrix.Cell(v, failover)
		unknown := []matrix.State{matrix.NotTested, matrix.Undecided}
		if slices.Contains(unknown, redis.State) || slices.Contains(unknown, other.State) {
			return fmt.Sprintf("For a failover this is not decided: v3 or %s was not tested.", v)
		}
		if other.State == matrix.Violated || redis.State != matrix.Violated {
			return fmt.Sprintf("For a failover this **does not hold**: v3: %s; %s: %s.", redis.Short(), v, other.Short())
		}
		for _, s := range other.Shown {
			by = append(by, s.Experiment)
		}
	}
	return fmt.Sprintf("For a failover this **holds**: v3 was violated, and %s not (%s).", matrix.List("and", others...), links(by))
}

// butPause says whether a pause violates locks that a majority keeps.
func (c Comparison) butPause(versions ...string) string {
	var violated, by []string
	for _, v := range versions {
		if cell := c.matrix.Cell(v, paused); cell.State == matrix.Violated {
			violated, by = append(violated, v), append(by, cell.Shown[0].Experiment)
		}
	}
	if len(violated) == 0 {
		return "Whether a paused holder violates them was not shown."
	}
	return fmt.Sprintf("It is not enough: a paused holder violated %s, too (%s).", matrix.List("and", violated...), links(by))
}

// a4 checks A4: etcd is a better lock than Redis.
func (c Comparison) a4() string {
	const says = "A4 calls etcd a better lock than Redis. "
	text := says + c.better([]string{"v7"})
	l := c.lock("v7")
	if !l.Alone.Known || !l.ToV3.Known {
		return text + " For speed this is not decided: it was not measured."
	}
	verdict := "**does not hold**"
	if l.Alone.Value <= 1 && l.ToV3.Value <= 1 {
		verdict = "**holds**"
	}
	return fmt.Sprintf("%s For speed this %s: lock and unlock take %s × the time of v3, a burst %s × (%s).",
		text, verdict, l.Alone.Text, l.ToV3.Text, benchmark)
}

// a2 checks A2: RedLock for heavy traffic, Redisson for light. v3 is Redisson's lock.
func (c Comparison) a2() string {
	const says = "A2 takes RedLock for heavy traffic and Redisson for light. "
	light := c.lock("v4").Alone
	heavy, ok := c.bench.ratio(sustained, "redlock", "ours", rate)
	if !ok || !light.Known {
		return says + "This is not decided: it was not measured."
	}
	verdict := "**does not hold**"
	if heavy > noise && light.Value > noise {
		verdict = "**holds**"
	}
	return fmt.Sprintf("%sFor speed this %s: under sustained load v4 has %s × the sections of v3, which is compatible with Redisson. "+
		"Without contention it takes %s × the time (%s).", says, verdict, digits(heavy), light.Text, benchmark)
}

func (c Comparison) lock(version string) Lock {
	return c.Locks[slices.IndexFunc(c.Locks, func(l Lock) bool { return l.Version == version })]
}

// links lead to the pages of experiments, each once.
func links(ids []string) string {
	var all []string
	for _, id := range ids {
		if link := fmt.Sprintf("[%s](experiments/%s.md)", id, id); !slices.Contains(all, link) {
			all = append(all, link)
		}
	}
	return strings.Join(all, ", ")
}
