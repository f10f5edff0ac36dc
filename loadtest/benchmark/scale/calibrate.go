package scale

import (
	"strconv"
	"time"

	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/runner"
)

// Rows of ours from which the model has its figures. The other rows check it.
const (
	few, many = 2, 32 // processes, on one key
	busyKeys  = 16    // keys that keep all processors of a small machine busy
)

// The bounds of a turn of our lock (localqueue.HandOff).
const (
	turnLeases = 128
	turnTime   = 100 * time.Millisecond
)

// A section is two commands. A hand-over is a release, whose message reaches the next process, and the acquire of that process.
const (
	sectionTrips  = 2
	handOverTrips = 2
)

// spent is what a section or a hand-over takes, in µs: on the clock, and of processor time.
type spent struct{ clock, redis, client float64 }

// plus adds b so many times. No sum is negative.
func (a spent) plus(b spent, times float64) spent {
	add := func(x, y float64) float64 { return max(0, x+float64(y*times)) }
	return spent{add(a.clock, b.clock), add(a.redis, b.redis), add(a.client, b.client)}
}

func (a spent) times(factor float64) spent { return spent{}.plus(a, factor) }

// spentBy is the median of a row of ours per section, with its part of the hand-overs. perTurn is how many sections a turn had.
func spentBy(all benchfile.Runs, workload string) (s spent, perTurn float64, measured bool) {
	measured = true
	figure := func(of benchfile.Figure) float64 {
		value, ok := all.Median(workload, "ours", of)
		measured = measured && ok && value > 0
		return value
	}
	s.redis, s.client, perTurn = figure(benchfile.ServerCPU), figure(benchfile.ClientCPU), figure(sectionsPerTurn)
	rate := figure(benchfile.Rate)
	s.clock = 1e6 / max(rate, 1)
	return s, perTurn, measured
}

// sectionsPerTurn counts messages that the lock was released: one at the end of each turn.
func sectionsPerTurn(r benchfile.Run) float64 { return float64(r.Done) / float64(max(1, r.Turns)) }

// calibrated is the model with the figures of a machine.
type calibrated struct {
	section, handOver spent   // a hand-over between two processes
	eachMore          spent   // what each further process adds to a hand-over
	busyRedis         float64 // the part of the above processor time that remains where all is busy
	busyClient        float64
}

// calibrate needs four rows of ours; false: one of them has no clean run.
//
// With one waiter in each process every section has a hand-over. With many it has the part of one that its turn says. So the two rows
// give both. A third row says what further processes add, and a fourth what remains of the processor time where all is busy.
func calibrate(all benchfile.Runs) (c calibrated, ok bool) {
	shared, perTurn, ok1 := spentBy(all, runner.ScaleSustained+strconv.Itoa(few))
	alone, _, ok2 := spentBy(all, runner.ScaleOne+strconv.Itoa(few))
	crowded, _, ok3 := spentBy(all, runner.ScaleOne+strconv.Itoa(many))
	busy, busyTurn, ok4 := spentBy(all, runner.ScaleKeys+strconv.Itoa(busyKeys))
	if !ok1 || !ok2 || !ok3 || !ok4 || perTurn <= 1 {
		return c, false
	}
	c.handOver = alone.plus(shared, -1).times(perTurn / (perTurn - 1))
	c.section = shared.plus(c.handOver, -1/perTurn)
	c.eachMore = crowded.plus(alone, -1).times(1.0 / (many - few))
	idle := c.section.plus(c.between(runner.KeyProcesses), 1/busyTurn)
	c.busyRedis, c.busyClient = min(1, busy.redis/idle.redis), min(1, busy.client/idle.client)
	return c, true
}

// between is a hand-over where so many processes wait for the key.
func (c calibrated) between(processes int) spent {
	return c.handOver.plus(c.eachMore, float64(processes-few))
}

// world is the measured machine with all keys always contended.
func (c calibrated) world(processes, keys, processors, leases int) world {
	return world{
		keys: keys, masters: 1, processors: processors, leases: leases, turn: float64(turnTime.Microseconds()),
		section: c.step(c.section), handOver: c.step(c.between(processes)),
	}
}

// far is the same clients and servers on machines of their own, with a round trip in µs between them.
func (c calibrated) far(processes, keys, masters int, roundTrip float64) world {
	w := c.world(processes, keys, 0, turnLeases)
	w.masters = masters
	w.section.Delay += sectionTrips * roundTrip
	w.handOver.Delay += handOverTrips * roundTrip
	return w
}

// step says how the time on the clock comes about. On a machine that idles, threads look for work for a while and then sleep. That takes
// processor time that nobody waits for, and time to wake up. So only what remains where all is busy counts as work, and the rest of the
// time on the clock is a delay.
func (c calibrated) step(of spent) step {
	work := step{Client: of.client * c.busyClient, Redis: of.redis * c.busyRedis}
	work.Delay = max(0, of.clock-work.Client-work.Redis)
	return work
}
