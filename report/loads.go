package report

import (
	"fmt"
	"time"

	"locklab/history"
)

// loads shows how many loads reached the database, over the time of a trial.
type loads struct {
	chart
	Bars   []bar
	Per    string // the time of one bar, and the most loads in one
	XTicks []tick
	Says   string
}

// loadBins is the number of bars.
const loadBins = 40

// loadsOver returns the loads of a trial; nil where there were few. A load is a command on the timeline of the database.
func loadsOver(events []history.Event) *loads {
	var at []time.Duration
	for _, e := range events {
		if e.Timeline == "database" && e.Kind == history.Command {
			at = append(at, e.At)
		}
	}
	if len(at) < fewest {
		return nil
	}
	began, span := events[0].At, max(1, events[len(events)-1].At-events[0].At)
	var bins [loadBins]int
	most := 0
	for _, t := range at {
		i := min(loadBins-1, int(loadBins*(t-began)/span))
		bins[i]++
		most = max(most, bins[i])
	}
	l := &loads{chart: frame}
	l.Bottom, l.Height = chartTop+120, chartTop+152
	room := chartRight - chartLeft
	for i, n := range bins {
		if height := 120 * n / most; n > 0 {
			l.Bars = append(l.Bars, bar{X: chartLeft + i*room/loadBins, Y: l.Bottom - height, Width: room/loadBins - 1, Height: height})
		}
	}
	l.Per = fmt.Sprintf("≤ %d in %s ms", most, milliseconds(span/loadBins))
	l.XTicks = timeTicks(chartLeft, span)
	l.Says = fmt.Sprintf("%s reached the database; at most %d in %s ms.", number(len(at), "load"), most, milliseconds(span/loadBins))
	return l
}
