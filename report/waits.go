package report

import (
	"fmt"
	"slices"
	"time"

	"locklab/history"
)

// waits shows how long clients waited for a lock, over time, and how many grants there were.
type waits struct {
	chart
	Rows   []waitRow
	Grants []bar
	GrantY int
	Per    string // the time of one bar of the grants, and the most grants in one
	XTicks []tick
	Says   string
}

// waitRow shows the waits of one timeline: a line for each, as high as the wait was long.
type waitRow struct {
	Name, Text string
	Y          int // of its floor
	Stalks     string
}

const (
	waitHeight = 46 // of a row
	waitBins   = 40
	waitRows   = 12 // more are drawn as one
)

// worthDrawing is the number of grants from which the waits are drawn.
const worthDrawing = 8

// waiting returns the waits of a trial; nil where there were few grants.
func waiting(events []history.Event) *waits {
	asked := make(map[string]bool)
	for _, e := range events {
		asked[e.Owner] = asked[e.Owner] || e.Kind == history.Request
	}
	holds := slices.DeleteFunc(history.Holders(events), func(h history.Holder) bool { return !asked[h.Owner] })
	if len(holds) < worthDrawing {
		return nil
	}
	began, ended, longest := holds[0].Requested, time.Duration(0), time.Duration(1)
	by := make(map[string][]history.Holder)
	var names []string
	for _, h := range holds {
		began, ended, longest = min(began, h.Requested), max(ended, h.Granted), max(longest, h.Granted-h.Requested)
		if by[h.Timeline] == nil {
			names = append(names, h.Timeline)
		}
		by[h.Timeline] = append(by[h.Timeline], h)
	}
	slices.SortStableFunc(names, numerically)
	if len(names) > waitRows {
		all := fmt.Sprintf("all %d", len(names))
		names, by = []string{all}, map[string][]history.Holder{all: holds}
	}
	span := max(1, ended-began)
	x := func(at time.Duration) int { return waitLeft + int((chartRight-waitLeft)*(at-began)/span) }
	w := &waits{chart: frame}
	w.Left = waitLeft
	for i, name := range names {
		w.Rows = append(w.Rows, newWaitRow(name, chartTop+(i+1)*waitHeight, by[name], x, longest))
	}
	w.GrantY = chartTop + (len(names)+1)*waitHeight
	w.count(holds, x, span)
	w.Bottom, w.Height = w.GrantY, w.GrantY+32
	w.XTicks = timeTicks(waitLeft, span)
	w.Says = fmt.Sprintf("%s; the longest wait was %s ms, the median %s ms.",
		number(len(holds), "grant"), milliseconds(longest), milliseconds(median(holds)))
	return w
}

// waitLeft leaves room for the names.
const waitLeft = 110

func newWaitRow(name string, floor int, holds []history.Holder, x func(time.Duration) int, longest time.Duration) waitRow {
	row := waitRow{Name: short(name, longName), Y: floor}
	most := time.Duration(0)
	for _, h := range holds {
		wait := h.Granted - h.Requested
		most = max(most, wait)
		row.Stalks += fmt.Sprintf("M%d %dv%d", x(h.Granted), floor, -max(1, int((waitHeight-8)*wait/longest)))
	}
	row.Text = fmt.Sprintf("%d ×, longest %s ms", len(holds), milliseconds(most))
	return row
}

// count draws the number of grants in each part of the time.
func (w *waits) count(holds []history.Holder, x func(time.Duration) int, span time.Duration) {
	var bins [waitBins]int
	most, room := 1, chartRight-waitLeft
	for _, h := range holds {
		i := min(waitBins-1, (x(h.Granted)-waitLeft)*waitBins/room)
		bins[i]++
		most = max(most, bins[i])
	}
	for i, n := range bins {
		if height := (waitHeight - 8) * n / most; n > 0 {
			w.Grants = append(w.Grants, bar{X: waitLeft + i*room/waitBins, Y: w.GrantY - height, Width: room/waitBins - 1, Height: height})
		}
	}
	w.Per = fmt.Sprintf("≤ %d in %s ms", most, milliseconds(span/waitBins))
}

func median(holds []history.Holder) time.Duration {
	all := make([]time.Duration, 0, len(holds))
	for _, h := range holds {
		all = append(all, h.Granted-h.Requested)
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
