package history

import (
	"fmt"
	"slices"
	"strings"
)

// explained is how many events an explanation has at most.
const explained = 12

// Explain returns the smallest slice of events that shows f, 12 or fewer: its own events, and the faults, deaths and
// losses among them.
func Explain(events []Event, f Finding) (slice []Event) {
	own := f.Events
	if len(own) > explained {
		own = own[len(own)-explained:]
	}
	if len(own) == 0 {
		return nil
	}
	from, to := slices.Min(own), slices.Max(own)
	room := explained - len(own)
	for _, e := range events {
		switch {
		case slices.Contains(own, e.Seq):
			slice = append(slice, e)
		case e.Seq < from || e.Seq > to || room == 0:
		case e.Kind == Fault || e.Kind == Die || e.Kind == Lose || e.Kind == Heal:
			slice, room = append(slice, e), room-1
		}
	}
	return slice
}

// Lanes draws events as text: a column for each lane, time downwards, a fault across all of them.
func Lanes(events []Event) string {
	lanes := lanesOf(events)
	width := make(map[string]int)
	for _, lane := range lanes {
		width[lane] = len([]rune(lane))
	}
	for _, e := range events {
		width[e.Lane] = max(width[e.Lane], len([]rune(e.Says())))
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
			if lane == e.Lane {
				return e.Says()
			}
			return ""
		})
	}
	return b.String()
}

// lanesOf lists the lanes in the order in which they appear.
func lanesOf(events []Event) (all []string) {
	for _, e := range events {
		if !slices.Contains(all, e.Lane) {
			all = append(all, e.Lane)
		}
	}
	return all
}
