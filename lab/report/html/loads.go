package html

import (
	"fmt"
	"slices"
	"time"

	"locklab/lab/history"
)

// loads shows how many loads reached the database, over the time of a trial.
type loads struct {
	chart
	Bars   []bar
	Per    string // the time of one bar, and the most loads in one
	XTicks []tick
	Says   string
}

// loadBins is the number of bars over the time of a trial.
const loadBins = 40

// loadsOver returns the loads of a trial; nil where there were few. Where time passes in steps, a bar is what happens between two of them.
func loadsOver(events []history.Event) *loads {
	var at, steps []time.Duration
	for _, e := range events {
		switch {
		case e.Name == history.Load && e.Timeline == "database": // and not that of an actor
			at = append(at, e.At)
		case e.Name == history.TimePasses:
			steps = append(steps, e.At)
		}
	}
	if len(at) < fewest {
		return nil
	}
	began, span := events[0].At, max(1, events[len(events)-1].At-events[0].At)
	per, ticks := milliseconds(span/loadBins)+" ms", timeTicks(chartLeft, span)
	if len(steps) >= 2 {
		per, ticks = "a moment", []tick{{chartLeft, "moment 1"}, {chartRight, fmt.Sprint(len(steps) + 1)}}
	} else {
		steps = nil
		for i := range loadBins - 1 {
			steps = append(steps, began+span*time.Duration(i+1)/loadBins)
		}
	}
	l := &loads{chart: frame, XTicks: ticks}
	most := l.bars(at, steps)
	l.Per = fmt.Sprintf("≤ %d in %s", most, per)
	l.Says = fmt.Sprintf("%s reached the database; at most %d in %s.", number(len(at), "load"), most, per)
	return l
}

// bars counts loads between two borders of time, and returns the most.
func (l *loads) bars(at, borders []time.Duration) (most int) {
	const highest = 120
	l.Bottom, l.Height = chartTop+highest, chartTop+highest+32
	bins := make([]int, len(borders)+1)
	for _, t := range at {
		i, _ := slices.BinarySearch(borders, t)
		bins[i]++
		most = max(most, bins[i])
	}
	room := chartRight - chartLeft
	for i, n := range bins {
		if height := highest * n / most; n > 0 {
			l.Bars = append(l.Bars, bar{
				X: chartLeft + i*room/len(bins), Y: l.Bottom - height, Width: max(1, room/len(bins)-1), Height: max(1, height),
			})
		}
	}
	return most
}
