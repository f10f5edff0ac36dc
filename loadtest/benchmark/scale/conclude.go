package scale

import (
	"fmt"
	"math"
	"strconv"

	"locklab/internal/benchfile"
	"locklab/loadtest/benchmark/runner"
)

// Conclusions are chosen by the figures of the tables.

// Rows that the conclusions and the table of one Redis share.
const (
	loose      = runner.ScaleAlone + "64"
	handedOver = runner.ScaleOne + "32"
)

const unmeasured = "Rows for this conclusion were not measured."

// ofInstances says what more processes do to one key.
func ofInstances(all benchfile.Runs) string {
	lasting, one := trendOf(all, runner.ScaleSustained, "ours", few, many), trendOf(all, runner.ScaleOne, "ours", few, many)
	if lasting.missing() || one.missing() {
		return unmeasured
	}
	return fmt.Sprintf("**Under a lasting load the rate of one key %s with more instances.** "+
		"v3 does %s sections per second with %d instances, and %s with %d%s. "+
		"Where each instance has one waiter, the rate %s: %s with %d and %s with %d%s.",
		lasting.word(),
		round(lasting.first), few, round(lasting.last), many, andBetween(all, runner.ScaleSustained),
		one.word(), round(one.first), few, round(one.last), many, andBetween(all, runner.ScaleOne))
}

func andBetween(all benchfile.Runs, kind string) string {
	if text := between(all, kind, "ours"); text != "" {
		return ", and " + text
	}
	return ""
}

// The figures of a run in processors.
func redisUsed(r benchfile.Run) float64 { return r.Rate * r.ServerCPU / 1e6 }
func allUsed(r benchfile.Run) float64   { return r.Rate * (r.ServerCPU + r.ClientCPU) / 1e6 }

// full is the part of the processors beyond which programs that share them are bound by them.
const full = 0.9

// ofRedis says what one Redis carries, over the numbers of keys that were measured.
func ofRedis(saved benchfile.Saved) string {
	type carried struct {
		keys int
		rate float64
	}
	var least, most carried
	for _, k := range runner.ScaleKeyCounts {
		took, ok := saved.Runs.Median(runner.ScaleKeys+strconv.Itoa(k), "ours", benchfile.ServerCPU)
		if !ok || took == 0 {
			continue
		}
		c := carried{k, sensible * 1e6 / took}
		if least.keys == 0 || c.rate < least.rate {
			least = c
		}
		if c.rate > most.rate {
			most = c
		}
	}
	if least.keys == most.keys {
		return unmeasured
	}
	return fmt.Sprintf("**One Redis carries %s to %s sections of v3 per second where each key has many waiters, with 70 %% of a processor.** "+
		"A section takes %s µs of Redis with %s, and %s with %s.%s %s",
		round(least.rate), round(most.rate), benchfile.Digits(sensible*1e6/least.rate), keysOf(least.keys),
		benchfile.Digits(sensible*1e6/most.rate), keysOf(most.keys), handingOver(saved.Runs), bound(saved, most.keys))
}

// handingOver is the same figure where each instance has one waiter; empty: it was not measured.
func handingOver(all benchfile.Runs) string {
	took, ok := all.Median(handedOver, "ours", benchfile.ServerCPU)
	if !ok || took == 0 {
		return ""
	}
	return fmt.Sprintf(" Where each of %d instances has one waiter the same figure is %s. Redis has few clients then, so a busy one carries more.",
		many, round(sensible*1e6/took))
}

// bound says what was busy in the row of so many keys, and only where the figures show it, which of it was the bound.
func bound(saved benchfile.Saved, keys int) string {
	workload := runner.ScaleKeys + strconv.Itoa(keys)
	reached, _ := saved.Runs.Median(workload, "ours", benchfile.Rate)
	redis, _ := saved.Runs.Median(workload, "ours", redisUsed)
	used, _ := saved.Runs.Median(workload, "ours", allUsed)
	text := fmt.Sprintf("Here %s reached %s, and Redis used %s of a processor", keysOf(keys), round(reached), percent(redis))
	processors := float64(saved.Header.Processors)
	switch {
	case redis >= sensible:
		return text + ": it was near its bound."
	case processors == 0:
		return text + "."
	case used >= full*processors:
		return text + ": the clients, which share the machine, were the bound."
	}
	return text + fmt.Sprintf(", all programs together %s of the %d processors.",
		percent(used/processors), saved.Header.Processors)
}

func keysOf(n int) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprintf("%d keys", n)
}

// ofMasters says when more masters help, and how far the model is from what was measured.
func ofMasters(s simulated) string {
	if len(s.far) == 0 {
		return unmeasured
	}
	one, most := s.far[0], s.far[len(farKeys)-1] // of the first round trip
	text := fmt.Sprintf("**In the model three masters carry %s times as much with %s, and %s times with %s.**",
		most.gains(), keysOf(most.keys), one.gains(), keysOf(one.keys))
	helps := ""
	for i, trip := range roundTrips {
		of := s.far[i*len(farKeys) : (i+1)*len(farKeys)]
		for _, p := range of {
			if p.gain() >= helpful {
				if helps != "" {
					helps += ", and "
				}
				helps += fmt.Sprintf("from %s at a round trip of %s ms", keysOf(p.keys), benchfile.Digits(trip/1e3))
				break
			}
		}
	}
	if helps == "" {
		text += " No number of keys in the model makes it help."
	} else {
		text += " It helps " + helps + "."
	}
	if worst, ok := s.worst(); ok {
		text += fmt.Sprintf(" The model differs from a measured row by up to %.0f %% in its rate, and by up to %.0f %% in the length of its turns."+
			" No checked row has several masters.", math.Abs(worst.off()), s.turnsOff())
	}
	return text
}
