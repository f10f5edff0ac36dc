package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab/history"
	"locklab/lab/report/drawing"
)

// fewest is the number of writes from which a counter is shown over time, and of loads from which they are.
const fewest = 20

// newChart is an empty chart of a trial, with the time to the right. The rest of its width is for words.
func newChart(name string, span time.Duration, height float64) (p *plot, x, y axis) {
	p = &plot{Class: "chart", Width: 760, Height: height + 48, Name: name}
	return p, axis{high: float64(span), from: 46, to: 600}, axis{from: height + 14, to: 14}
}

type counter struct {
	writes []history.Event
	times  map[int64]int // how often each value was written
	final  int64
	ended  bool // it was read at the end
}

// bursts draws each counter that many writes were confirmed of.
func bursts(events []history.Event) (all []*plot) {
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

// burst shows what many clients wrote to one counter: each value when it was written, beside the number of writes confirmed until then.
// Without a loss the two are one line.
func (c *counter) burst(key string) *plot {
	began, span := c.writes[0].At, time.Duration(1)
	highest := max(int64(len(c.writes)), c.final)
	for _, w := range c.writes {
		span, highest = max(span, w.At-began), max(highest, w.Value)
	}
	p, x, y := newChart(key+" over time", span, 212)
	y.high = float64(highest)
	p.rows(x, y, []axisTick{{0, "0"}, {float64(highest / 2), fmt.Sprint(highest / 2)}, {float64(highest), fmt.Sprint(highest)}})
	p.below(x, y.from, timeTicks(span))
	confirmed, once, twice := route{fmt.Sprintf("M%v %v", x.from, y.from)}, route(nil), route(nil)
	repeated := 0
	for i, w := range c.writes {
		at, value := x.at(float64(w.At-began)), y.at(float64(w.Value))
		confirmed.add("L%.0f %.0f", at, y.at(float64(i+1)))
		if c.times[w.Value] > 1 {
			repeated++
			twice.add("M%.0f %.0fl5 5m0-5l-5 5", at-2, value-2)
		} else {
			once.add("M%.0f %.0fh0", at, value)
		}
	}
	p.draw("confirmed", confirmed, "M1 12 25 2", "writes confirmed so far")
	p.draw("once", once, "M13 7h0", "the value of a write")
	p.draw("twice", twice, "M10 4l6 6m0-6l-6 6", "a value that was written more than once")
	p.Says = fmt.Sprintf("%s of %s were confirmed", drawing.Count(len(c.writes), "write"), key) + c.ends(p, x, y)
	if repeated > 0 {
		p.Says += fmt.Sprintf("; %d of them wrote a value that another write wrote, too", repeated)
	}
	p.Says += "."
	p.Caption = p.Says
	return p
}

// route is the steps of a path. Hundreds of events stand at a few places: each step is drawn once.
type route []string

func (r *route) add(format string, at ...any) {
	if step := fmt.Sprintf(format, at...); !slices.Contains(*r, step) {
		*r = append(*r, step)
	}
}

// draw draws a route, if there is one, and explains it.
func (p *plot) draw(class string, r route, key, text string) {
	if len(r) > 0 {
		p.path(class, "%s", strings.Join(r, ""))
		p.Keys = append(p.Keys, plotKey{class, key, text})
	}
}

// ends shows at the right edge where the counter ends, beside what was confirmed, and says it.
func (c *counter) ends(p *plot, x, y axis) string {
	n := int64(len(c.writes))
	at, words := y.at(float64(n)), x.to+22
	if !c.ended {
		p.text("end", words, at+4, fmt.Sprintf("%d confirmed", n))
		return ""
	}
	final, says := y.at(float64(c.final)), fmt.Sprintf(", and it ends at %d", c.final)
	if c.final >= n {
		p.text("end", words, final+4, fmt.Sprintf("all %d are there", c.final))
		return says
	}
	p.bar("loss", x.to, final, 14, final-at)
	p.text("loss-text", words, (at+final)/2+4, fmt.Sprintf("%d lost", n-c.final))
	p.text("end", words, at+4, fmt.Sprintf("%d confirmed", n))
	p.text("end", words, final+4, fmt.Sprintf("ends at %d", c.final))
	return says + fmt.Sprintf(": %d are lost", n-c.final)
}

// loadsOver shows how many loads reached the database, over the time of a trial; nil where there were few. Where time passes in steps, a
// bar is what happens between two of them.
func loadsOver(events []history.Event) *plot {
	const bars = 40
	var at, borders []time.Duration
	for _, e := range events {
		switch {
		case e.Name == history.Load && e.Timeline == "database": // and not that of an actor
			at = append(at, e.At)
		case e.Name == history.TimePasses:
			borders = append(borders, e.At)
		}
	}
	if len(at) < fewest {
		return nil
	}
	began, span := events[0].At, max(1, events[len(events)-1].At-events[0].At)
	per, ticks := "a moment", []axisTick{{0, "moment 1"}, {float64(span), fmt.Sprint(len(borders) + 1)}}
	if len(borders) < 2 {
		per, ticks, borders = drawing.Milliseconds(span/bars)+" ms", timeTicks(span), nil
		for i := range time.Duration(bars - 1) {
			borders = append(borders, began+span*(i+1)/bars)
		}
	}
	counts, most := make([]int, len(borders)+1), 0
	for _, t := range at {
		i, _ := slices.BinarySearch(borders, t)
		counts[i]++
		most = max(most, counts[i])
	}
	p, x, _ := newChart("Loads of the database over time", span, 120)
	const bottom, highest = 134, 120
	p.path("timeline", "M%v %vH%v", x.from, bottom, x.to)
	width := (x.to - x.from) / float64(len(counts))
	for i, n := range counts {
		p.bar("amount", x.from+float64(i)*width, bottom, width-1, highest*float64(n)/float64(most))
	}
	p.text("end", x.to+8, bottom, fmt.Sprintf("≤ %d in %s", most, per))
	p.below(x, bottom, ticks)
	p.Says = fmt.Sprintf("%s reached the database; at most %d in %s.", drawing.Count(len(at), "load"), most, per)
	p.Caption, p.Keys = p.Says, []plotKey{{"amount", "M4 14h8v-12h-8zM14 14h8v-8h-8z", "loads that reached the database, over time"}}
	return p
}
