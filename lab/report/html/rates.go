package html

import (
	"fmt"
	"io"
	"slices"
	"time"

	"locklab/lab/burst"
)

// Moment is something that happened during a load: a line through the plot.
type Moment struct {
	At   time.Duration // since the load began
	Text string
}

// Rates writes a plot of a load, with room for some seconds. The newest is at the right. Three panels stand above each other: answers,
// waits, losses. The names of the moments are above them.
func Rates(w io.Writer, of burst.Rates, room int, moments []Moment) error {
	p := &plot{Class: "rates", Width: 480, Height: 284}
	most, mostLost, longest := 0, 1, time.Duration(0)
	for _, s := range of.Seconds {
		most, mostLost, longest = max(most, s.Confirmed+s.Failed), max(mostLost, s.Lost), max(longest, s.Longest)
	}
	end := of.Before + len(of.Seconds)
	x := axis{low: float64(end - room), high: float64(end), from: 46, to: 472}
	answers, losses := axis{high: float64(most), from: 134, to: 70}, axis{high: float64(mostLost), from: 262, to: 238}
	waits := axis{float64(time.Millisecond), float64(100 * time.Second), 216, 156, true}
	p.panel(x, answers, fmt.Sprintf("answers per second; the highest bar is %d", most))
	p.panel(x, losses, fmt.Sprintf("lost views per second; so far %d", of.Lost))
	p.text("", x.from, waits.to-6, "wait for a confirmed answer: median and longest")
	p.rows(x, waits, []axisTick{
		{float64(time.Millisecond), "1 ms"}, {float64(100 * time.Millisecond), "0.1 s"}, {float64(10 * time.Second), "10 s"},
	})
	width := x.at(float64(end)) - x.at(float64(end-1)) - 1
	for i, s := range of.Seconds {
		left := x.at(float64(of.Before + i))
		confirmed := stand(answers, s.Confirmed)
		p.bar("failed", left, answers.from-confirmed, width, stand(answers, s.Failed))
		p.bar("amount", left, answers.from, width, confirmed)
		p.bar("failed", left, losses.from, width, stand(losses, s.Lost))
		if s.Longest > 0 {
			median := tenth(waits.at(float64(s.Median)))
			p.path("wait", "M%v %vV%v", tenth(left+width/2), median, tenth(waits.at(float64(s.Longest))))
			p.path("median", "M%v %vh%v", tenth(left), median, tenth(width))
		}
	}
	p.below(x, losses.from-2, secondTicks(of.Before, end, room))
	p.moments(moments, of, x, answers.to, losses.from)
	p.Says = fmt.Sprintf("The last %d seconds of a load: at most %d answers in one, and the longest wait was %s. "+
		"Failed so far: %d. Lost so far: %d.", len(of.Seconds), most, longest.Round(time.Millisecond), of.Failed, of.Lost)
	return pages.ExecuteTemplate(w, "rates", p)
}

// panel begins a part of the plot.
func (p *plot) panel(x, y axis, title string) {
	p.text("", x.from, y.to-6, title)
	p.path("grid", "M%v %vH%v", x.from, y.from, x.to)
}

// stand is the height of n. It is at least a pixel: one failure beside a thousand answers is seen.
func stand(y axis, n int) float64 {
	if n == 0 {
		return 0
	}
	return max(1, y.from-y.at(float64(n)))
}

// secondTicks are whole seconds, without one that the right edge would cut.
func secondTicks(from, end, room int) (all []axisTick) {
	every := 10
	for every*7 < room {
		every *= 3
	}
	for second := (from + every - 1) / every * every; second < end-room/40; second += every {
		all = append(all, axisTick{float64(second), fmt.Sprintf("%d s", second)})
	}
	return all
}

// moments adds those that are not too old, each in the first row where its text fits. Without such a row it is a line without a text.
func (p *plot) moments(all []Moment, of burst.Rates, x axis, top, bottom float64) {
	const rows, row, first, letterWidth = 3, 15, 14, 7
	ends := make([]float64, rows)
	for _, m := range all {
		if m.At < time.Duration(of.Before)*time.Second {
			continue
		}
		at, class := x.at(m.At.Seconds()), "moment"
		long := float64(letterWidth * len([]rune(m.Text)))
		from, text := at, at+4
		if at+long > p.Width {
			class, from, text = "moment before", at-long, at-4
		}
		line := top
		if free := slices.IndexFunc(ends, func(end float64) bool { return end < from }); free >= 0 {
			line, ends[free] = first+row*float64(free), from+long
			p.text(class, text, line, m.Text)
		}
		p.path("moment-line", "M%v %vV%v", tenth(at), line, bottom)
	}
}
