package history

import (
	"fmt"
	"slices"
	"strings"
)

// Explained is how many events an explanation has at most.
const Explained = 12

// Explain returns the smallest slice of events that shows f, 12 or fewer: its own events, and the faults, deaths and
// losses among them. Where there is room it tells how the clients got in as well: their grants, and the releases
// between these and the end; and the faults before all of that.
func Explain(events []Event, f Violation) (slice []Event) {
	own := f.Events[max(0, len(f.Events)-Explained):]
	if len(own) == 0 {
		return nil
	}
	from, to := slices.Min(own), slices.Max(own)
	seqs := slices.Clone(own)
	for _, e := range events {
		broken := e.Kind == Fault || e.Kind == Die || e.Kind == Lose || e.Kind == Heal
		if broken && e.Seq > from && e.Seq < to && !slices.Contains(seqs, e.Seq) && len(seqs) < Explained {
			seqs = append(seqs, e.Seq)
		}
	}
	for _, more := range [][]int{grants(events, seqs), releases(events, seqs)} {
		if all := sorted(seqs, more); len(all) <= Explained {
			seqs = all
		}
	}
	for _, e := range slices.Backward(events) { // what led to it, the latest first
		if e.Kind == Fault && e.Seq < from && len(seqs) < Explained {
			seqs = append(seqs, e.Seq)
		}
	}
	for _, e := range events {
		if slices.Contains(seqs, e.Seq) {
			slice = append(slice, e)
		}
	}
	return slice
}

// grants are those by which the owners of some events held the lock at the first of them.
func grants(events []Event, seqs []int) (all []int) {
	newest := make(map[string]int) // by owner
	took := make(map[string]bool)
	for _, e := range events {
		switch {
		case e.Kind == Grant:
			newest[e.Owner] = e.Seq
		case slices.Contains(seqs, e.Seq) && newest[e.Owner] > 0 && !took[e.Owner]:
			took[e.Owner] = true
			all = append(all, newest[e.Owner])
		}
	}
	return all
}

// releases are those between some events, one event each: where its call came before, its answer.
func releases(events []Event, seqs []int) (all []int) {
	from, to := slices.Min(seqs), slices.Max(seqs)
	called := make(map[string]bool) // by owner
	for _, e := range events {
		if e.Seq <= from || e.Seq >= to || called[e.Owner] || e.Kind != Release && e.Kind != Released {
			continue
		}
		called[e.Owner] = true
		all = append(all, e.Seq)
	}
	return all
}

// Timelines draws events as text: a column for each lane, time downwards, a fault across all of them.
func Timelines(events []Event) string {
	lanes := lanesOf(events)
	width := make(map[string]int)
	for _, lane := range lanes {
		width[lane] = len([]rune(lane))
	}
	for _, e := range events {
		width[e.Timeline] = max(width[e.Timeline], len([]rune(e.Summary())))
	}
	var b strings.Builder
	row := func(at string, cell func(lane string) string) {
		line := fmt.Sprintf("%9s", at)
		for _, lane := range lanes {
			text := cell(lane)
			line += " │ " + text + strings.Repeat(" ", max(0, width[lane]-len([]rune(text))))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("ms", func(lane string) string { return lane })
	for _, e := range events {
		row(fmt.Sprintf("%.1f", float64(e.At.Microseconds())/1000), func(lane string) string {
			if lane == e.Timeline {
				return e.Summary()
			}
			return ""
		})
	}
	return b.String()
}

// lanesOf lists the lanes in the order in which they appear.
func lanesOf(events []Event) (all []string) {
	for _, e := range events {
		if !slices.Contains(all, e.Timeline) {
			all = append(all, e.Timeline)
		}
	}
	return all
}
