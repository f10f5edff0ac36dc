package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/history"
)

// fewest is the number of writes from which a counter is shown over time.
const fewest = 20

// The measures of a chart, in its own units.
const (
	chartWidth  = 760
	chartHeight = 260
	chartLeft   = 46
	chartRight  = 600 // the rest is for words
	chartTop    = 14
	chartBottom = 226
)

// burstChart shows what many clients wrote to one counter: each value when it was written, beside the number of writes confirmed until
// then. Without a loss the two are one line.
type burstChart struct {
	Key                string
	Confirmed          string // a path
	Once, Twice        string // paths: values that were written once, and more often
	EndY, FinalY       int
	EndText, FinalText string
	LossY, LossHeight  int
	LossMiddle         int
	LossText           string
	Says               string
	YTicks, XTicks     []tick
	chart
}

type chart struct{ Width, Height, Left, Right, Top, Bottom int }

var frame = chart{chartWidth, chartHeight, chartLeft, chartRight, chartTop, chartBottom}

type counter struct {
	writes []history.Event
	times  map[int64]int // how often each value was written
	final  int64
	ended  bool // it was read at the end
}

func bursts(events []history.Event) (all []burstChart) {
	by := make(map[string]*counter)
	var keys []string
	for _, e := range events {
		if e.Kind != history.Write && e.Kind != history.Final {
			continue
		}
		c := by[e.Key]
		if c == nil {
			c = &counter{times: make(map[int64]int)}
			by[e.Key], keys = c, append(keys, e.Key)
		}
		if e.Kind == history.Final {
			c.final, c.ended = e.Value, true
			continue
		}
		c.writes = append(c.writes, e)
		c.times[e.Value]++
	}
	for _, key := range keys {
		if len(by[key].writes) >= fewest {
			all = append(all, by[key].burst(key))
		}
	}
	return all
}

func (c *counter) burst(key string) burstChart {
	began, span := c.writes[0].At, time.Duration(1)
	highest := max(int64(len(c.writes)), c.final)
	for _, w := range c.writes {
		span, highest = max(span, w.At-began), max(highest, w.Value)
	}
	x := func(at time.Duration) int { return chartLeft + int((chartRight-chartLeft)*max(0, at-began)/span) }
	y := func(value int64) int {
		return chartBottom - int(float64(chartBottom-chartTop)*float64(max(0, value))/float64(highest))
	}
	b := burstChart{Key: key, chart: frame}
	confirmed, once, twice := path{fmt.Sprintf("M%d %d", chartLeft, chartBottom)}, path(nil), path(nil)
	repeated := 0
	for i, w := range c.writes {
		confirmed.add("L%d %d", x(w.At), y(int64(i+1)))
		if c.times[w.Value] > 1 {
			repeated++
			twice.add("M%d %dl5 5m0-5l-5 5", x(w.At)-2, y(w.Value)-2)
			continue
		}
		once.add("M%d %dh0", x(w.At), y(w.Value))
	}
	b.Confirmed, b.Once, b.Twice = confirmed.String(), once.String(), twice.String()
	b.YTicks = []tick{{y(0), "0"}, {y(highest / 2), fmt.Sprint(highest / 2)}, {y(highest), fmt.Sprint(highest)}}
	b.XTicks = timeTicks(chartLeft, span)
	b.Says = fmt.Sprintf("%s of %s were confirmed", number(len(c.writes), "write"), key)
	b.ends(c, y)
	if repeated > 0 {
		b.Says += fmt.Sprintf("; %d of them wrote a value that another write wrote, too", repeated)
	}
	b.Says += "."
	return b
}

// path is the steps of a path. Hundreds of events stand at a few places: each step is drawn once.
type path []string

func (p *path) add(format string, at ...any) {
	if step := fmt.Sprintf(format, at...); !slices.Contains(*p, step) {
		*p = append(*p, step)
	}
}

func (p path) String() string { return strings.Join(p, "") }

func timeTicks(left int, span time.Duration) []tick {
	return []tick{{left, "0 ms"}, {(left + chartRight) / 2, milliseconds(span/2) + " ms"}, {chartRight, milliseconds(span) + " ms"}}
}

func (b *burstChart) ends(c *counter, y func(int64) int) {
	n := int64(len(c.writes))
	b.EndY, b.EndText = y(n), fmt.Sprintf("%d confirmed", n)
	if !c.ended {
		return
	}
	b.Says += fmt.Sprintf(", and it ends at %d", c.final)
	b.FinalY, b.FinalText = y(c.final), fmt.Sprintf("ends at %d", c.final)
	if lost := n - c.final; lost > 0 {
		b.LossY, b.LossHeight, b.LossText = b.EndY, b.FinalY-b.EndY, fmt.Sprintf("%d lost", lost)
		b.LossMiddle = (b.EndY + b.FinalY) / 2
		b.Says += fmt.Sprintf(": %d are lost", lost)
	} else {
		b.EndText, b.FinalText = "", fmt.Sprintf("all %d are there", c.final)
	}
}

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

const waitLeft = 110

// short cuts the name of a row of a chart, whose left margin is fixed.
func short(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

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

// measured holds the measurements of one unit, side by side.
type measured struct {
	Unit string
	Rows []measuredRow
	Says string
}

// measuredRow is one way of doing something, in one variant: the median, and each measurement.
type measuredRow struct {
	Way   string
	Value int64
	Text  string // the value, formatted
	Width int    // of the bar
	Each  []int  // x of each measurement; nil: there is only one

	values []int64 // sorted
}

const barRoom = 400

// measures shows the measurements of a run, over all trials, by unit and way.
func measures(r lab.Record) (all []measured) {
	measurements := r.Measures()
	variants, timelines := make(map[string]bool), make(map[string]bool)
	for _, m := range measurements {
		variants[m.Variant], timelines[m.Timeline] = true, true
	}
	for _, m := range measurements {
		if len(all) == 0 || all[len(all)-1].Unit != m.Label() {
			all = append(all, measured{Unit: m.Label()})
		}
		way := m.Variant + " · " + m.Timeline
		switch {
		case len(variants) == 1 || m.Variant == m.Timeline:
			way = m.Timeline
		case len(timelines) == 1:
			way = m.Variant
		}
		last := &all[len(all)-1]
		last.Rows = append(last.Rows, measuredRow{Way: way, Value: m.Median(), Text: m.Text(m.Median()), values: m.Values})
	}
	for i := range all {
		all[i].scale()
	}
	return all
}

// scale makes the bars as long as their values.
func (m *measured) scale() {
	longest := int64(1)
	for _, r := range m.Rows {
		longest = max(longest, slices.Max(r.values))
	}
	length := func(v int64) int { return int(float64(max(0, v)) / float64(longest) * barRoom) }
	for i := range m.Rows {
		r := &m.Rows[i]
		r.Width = length(r.Value)
		if len(r.values) > 1 {
			for _, v := range r.values {
				r.Each = append(r.Each, length(v))
			}
		}
		m.Says += fmt.Sprintf("%s: %s %s. ", r.Way, r.Text, m.Unit)
	}
}
