package page

import (
	"fmt"
	"slices"
)

// conclusions are what the rows say together.
func conclusions(all rows, goals []judged) []string {
	return []string{burstConclusion(all), costConclusion(all), goalsConclusion(all, goals)}
}

// burstConclusion compares a burst of 666 with a queue in one process and with the best library.
func burstConclusion(all rows) string {
	local, there := all.ratio("burst", "ours", "local", seconds)
	best := all.best("burst", seconds)
	library, too := all.ratio("burst", best, "ours", seconds)
	switch {
	case there && too:
		return fmt.Sprintf("A burst of 666 takes %s × the time of a queue in one process. The fastest library, %s, takes %s × our time.",
			number(local), best, number(library))
	case there:
		return fmt.Sprintf("A burst of 666 takes %s × the time of a queue in one process. No library was measured.", number(local))
	}
	return "The burst of 666 was not measured."
}

// costConclusion says what the lock costs a client that is alone, and between two processes.
func costConclusion(all rows) string {
	alone, there := all.ratio("uncontended", "ours", "redislock", waitP50)
	between, too := all.ratio("hand-over", "ours", "rueidislock", waitP50)
	switch {
	case there && too:
		return fmt.Sprintf("Without contention, lock and unlock take %s × the time of redislock. "+
			"A hand-over between processes takes %s × the time of rueidislock.",
			number(alone), number(between))
	case there:
		return fmt.Sprintf("Without contention, lock and unlock take %s × the time of redislock.", number(alone))
	}
	return "Lock and unlock without contention were not measured."
}

// goalsConclusion counts the goals that are met, and the updates that our lock has lost.
func goalsConclusion(all rows, goals []judged) string {
	met, measured := 0, 0
	for _, g := range goals {
		if g.Met != "not measured" {
			measured++
		}
		if g.Met == "yes" {
			met++
		}
	}
	lost := 0
	for row, runs := range all {
		if !slices.Contains(ours, row.Lock) {
			continue
		}
		for _, r := range runs {
			lost += r.Lost
		}
	}
	updates := "our locks lost no update"
	if lost > 0 {
		updates = fmt.Sprintf("**our locks lost %d updates**", lost)
	}
	return fmt.Sprintf("%d of the %d goals that were measured are met, and %s.", met, measured, updates)
}

// ours are the rows of our locks. What v1 and v2 lose they are there to lose.
var ours = []string{
	"ours", "bare", "redlock", "redlock-bare", "redlock-hang", "v3", "v4", "v5", "v5-bare", "v6", "v6-bare", "v7", "v7-bare", "v8", "v8-bare",
}
