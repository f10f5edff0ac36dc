package scale

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"locklab/internal/benchfile"
	"locklab/loadtest/benchmark/runner"
)

// Conclusions are chosen by the figures, so that none contradicts a table.

// same is by how much two medians may differ where nothing has changed, as a part: the runs of one row differ by as much.
const same = 0.15

// Rows that the conclusions and the table of one Redis share.
const (
	contended  = runner.ScaleKeys + "16"
	loose      = runner.ScaleAlone + "64"
	handedOver = runner.ScaleOne + "32"
)

const unmeasured = "Rows for this conclusion were not measured."

// pair is the rates of a lock with few and with many processes.
type pair struct{ first, last []float64 }

func pairOf(all benchfile.Runs, kind, lock string) pair {
	rates := func(n int) []float64 {
		row := all.Row(kind+strconv.Itoa(n), lock)
		return slices.DeleteFunc(row, func(r benchfile.Run) bool { return !r.Clean() }).Figures(benchfile.Rate)
	}
	return pair{rates(few), rates(many)}
}

func (p pair) missing() bool { return len(p.first) == 0 || len(p.last) == 0 }

// change chooses a word. Where the runs overlap or the medians are near, nothing has changed.
func (p pair) change(more, less, equal string) string {
	ratio := benchfile.Median(p.last) / benchfile.Median(p.first)
	overlap := slices.Min(p.first) <= slices.Max(p.last) && slices.Min(p.last) <= slices.Max(p.first)
	switch {
	case overlap || math.Abs(ratio-1) <= same:
		return equal
	case ratio > 1:
		return more
	}
	return less
}

func (p pair) String() string {
	return fmt.Sprintf("%s with %d and %s with %d", round(benchfile.Median(p.first)), few, round(benchfile.Median(p.last)), many)
}

// ofInstances says what more processes do to one key.
func ofInstances(all benchfile.Runs) string {
	lasting, one := pairOf(all, runner.ScaleSustained, "ours"), pairOf(all, runner.ScaleOne, "ours")
	if lasting.missing() || one.missing() {
		return unmeasured
	}
	text := fmt.Sprintf("**Under a lasting load more instances make one key %s.** "+
		"v3 does %s sections per second with %d instances, and %s with %d.",
		lasting.change("faster", "slower", "neither faster nor slower"),
		round(benchfile.Median(lasting.first)), few, round(benchfile.Median(lasting.last)), many)
	if perTurn, _ := all.Median(runner.ScaleSustained+strconv.Itoa(many), "ours", sectionsPerTurn); perTurn >= 10 {
		text += fmt.Sprintf(" The lock changes its instance only after some %.0f sections.", perTurn)
	}
	if p := pairOf(all, runner.ScaleBurst, "ours"); !p.missing() {
		text += fmt.Sprintf(" In a burst of %d its rate %s: %s.", runner.ScaleWaiters, p.change("rises", "falls", "shows no clear change"), p)
		text += fmt.Sprintf(" There each of %d instances has only some %d waiters, once.", many, runner.ScaleWaiters/many)
	}
	text += fmt.Sprintf(" Where each instance has one waiter, every section is a hand-over. The rate %s there: %s.",
		one.change("rises", "falls", "shows no clear change"), one)
	for _, other := range []struct{ name, lock string }{{"v4", "redlock"}, {"v7", "v7"}} {
		if p := pairOf(all, runner.ScaleSustained, other.lock); !p.missing() {
			text += fmt.Sprintf(" With many waiters the rate of %s %s: %s.", other.name, p.change("rises", "falls", "shows no clear change"), p)
		}
	}
	return text
}

// ofRedis says what one Redis carries.
func ofRedis(all benchfile.Runs) string {
	took := func(workload string) float64 {
		m, _ := all.Median(workload, "ours", benchfile.ServerCPU)
		return m / 1e6
	}
	busy, free, over := took(contended), took(loose), took(handedOver)
	reached, _ := all.Median(contended, "ours", benchfile.Rate)
	if busy*free*over == 0 {
		return unmeasured
	}
	text := fmt.Sprintf("**One Redis carries about %s sections of v3 per second on contended keys, with 70 %% of a processor.** "+
		"Without contention it carries %s. Where 32 instances have one waiter each, it carries at least %s. "+
		"Here 16 keys reached %s, and Redis used %.0f %% of a processor:",
		round(sensible/busy), round(sensible/free), round(sensible/over), round(reached), reached*busy*100)
	if reached*busy < sensible {
		return text + " the clients, which share the machine, were the bound."
	}
	return text + " it was near its bound."
}

// ofMasters says when more masters help.
func ofMasters(far []prediction) string {
	if len(far) == 0 {
		return unmeasured
	}
	one, most := far[0], far[len(farKeys)-1] // of the first round trip
	text := fmt.Sprintf("**A cluster of three masters carries %.1f times as much with %d contended keys in the model, "+
		"and %.1f times with one.** One key stays on one master.", most.more.rate/most.one.rate, most.keys, one.more.rate/one.one.rate)
	for i, p := range far[:len(farKeys)] {
		if p.one.redis <= sensible {
			continue
		}
		text += fmt.Sprintf(" Shard when Redis is busy for more than 70 %%. In the model it is with %d keys", p.keys)
		if i > 0 {
			text += fmt.Sprintf(", and not with %d", far[i-1].keys)
		}
		return text + "."
	}
	return text + " Shard when Redis is busy for more than 70 %. In the model no number of keys does that."
}
