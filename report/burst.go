package report

import (
	"fmt"
	"strings"
	"time"

	"locklab/history"
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

// burst shows what many clients wrote to one counter: each value when it was written, beside the number of writes confirmed until
// then. Without a loss the two are one line.
type burst struct {
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

// chart is the frame of a chart.
type chart struct{ Width, Height, Left, Right, Top, Bottom int }

var frame = chart{chartWidth, chartHeight, chartLeft, chartRight, chartTop, chartBottom}

// counter is what a history says about one key.
type counter struct {
	writes []history.Event
	times  map[int64]int // how often each value was written
	final  int64
	ended  bool // it was read at the end
}

func bursts(events []history.Event) (all []burst) {
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

func (c *counter) burst(key string) burst {
	began, span := c.writes[0].At, time.Duration(1)
	highest := max(int64(len(c.writes)), c.final)
	for _, w := range c.writes {
		span, highest = max(span, w.At-began), max(highest, w.Value)
	}
	x := func(at time.Duration) int { return chartLeft + int((chartRight-chartLeft)*max(0, at-began)/span) }
	y := func(value int64) int {
		return chartBottom - int(float64(chartBottom-chartTop)*float64(max(0, value))/float64(highest))
	}
	b := burst{Key: key, chart: frame}
	var confirmed, once, twice strings.Builder
	fmt.Fprintf(&confirmed, "M%d %d", chartLeft, chartBottom)
	repeated := 0
	for i, w := range c.writes {
		fmt.Fprintf(&confirmed, "L%d %d", x(w.At), y(int64(i+1)))
		if c.times[w.Value] > 1 {
			repeated++
			fmt.Fprintf(&twice, "M%d %dl5 5m0-5l-5 5", x(w.At)-2, y(w.Value)-2)
			continue
		}
		fmt.Fprintf(&once, "M%d %dh0", x(w.At), y(w.Value))
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

// timeTicks are the ticks of a chart's time.
func timeTicks(left int, span time.Duration) []tick {
	return []tick{{left, "0 ms"}, {(left + chartRight) / 2, milliseconds(span/2) + " ms"}, {chartRight, milliseconds(span) + " ms"}}
}

// ends labels the ends of the lines, and the difference between them.
func (b *burst) ends(c *counter, y func(int64) int) {
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
