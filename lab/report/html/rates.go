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

// The measures of the plot of a load, from the top.
const (
	ratesHeight            = 240
	momentRow              = 20
	answersTop, answersLow = 64, 128
	lossesLow              = 150 // they hang below the answers
	waitsTop, waitsLow     = 176, 216
	narrowest              = 400 // with room for more than a word in the legend
)

// Rates writes a plot of a load, with room for some seconds. The newest is at the right. The names of the moments are above it.
func Rates(w io.Writer, of burst.Rates, width float64, room int, moments []Moment) error {
	p := &plot{Class: "rates", Width: width, Height: ratesHeight}
	most, mostLost, longest := 1, 1, time.Duration(0)
	for _, s := range of.Seconds {
		most, mostLost, longest = max(most, s.Confirmed+s.Failed), max(mostLost, s.Lost), max(longest, s.Longest)
	}
	end := of.Before + len(of.Seconds)
	x := axis{low: float64(end - room), high: float64(end), from: 60, to: width - 4}
	answers := axis{high: float64(most), from: answersLow, to: answersTop}
	losses := axis{high: float64(mostLost), from: answersLow, to: lossesLow}
	waits := axis{float64(time.Millisecond), float64(100 * time.Second), waitsLow, waitsTop, true}
	p.rows(x, answers, []axisTick{{0, "0"}})
	if len(of.Seconds) > 0 {
		p.rows(x, answers, []axisTick{{float64(most), fmt.Sprint(most)}})
	}
	p.rows(x, waits, []axisTick{{float64(time.Millisecond), "1 ms"}, {float64(time.Second), "1 s"}})
	p.legends(x.from + 4)
	bar := x.at(float64(end)) - x.at(float64(end-1)) - 1
	for i, s := range of.Seconds {
		left := x.at(float64(of.Before + i))
		confirmed := stand(answers, s.Confirmed)
		p.bar("failed", left, answers.from-confirmed, bar, stand(answers, s.Failed))
		p.bar("amount", left, answers.from, bar, confirmed)
		if s.Lost > 0 {
			depth := max(1, losses.at(float64(s.Lost))-losses.from)
			p.bar("lost", left, losses.from+depth, bar, depth)
		}
		if s.Longest > 0 {
			p.wait(waits, left, bar, s)
		}
	}
	if of.Lost > 0 {
		p.text("y lost", x.from-6, lossesLow, "lost")
	}
	p.below(x, waitsLow+2, secondTicks(of.Before, end, room))
	p.moments(moments, of, x, answersTop, waitsLow)
	p.Says = fmt.Sprintf("The last %d seconds of a load: at most %d answers in one, and the longest wait was %s. "+
		"Failed so far: %d. Lost so far: %d.", len(of.Seconds), most, longest.Round(time.Millisecond), of.Failed, of.Lost)
	return pages().ExecuteTemplate(w, "chart", p)
}

// legends name the colours of the answers, and of the waits.
func (p *plot) legends(x float64) {
	answers := []plotKey{{"amount", "", "answers"}, {"failed", "", "failed"}, {"lost", "", "lost"}}
	if p.Width > narrowest {
		answers[0].Text, answers[2].Text = "answers per second", "lost, below the line"
	}
	p.legend(x, answersTop-4, answers)
	p.legend(x, waitsTop-6, []plotKey{{"median", "", "median wait"}, {"wait", "", "longest"}})
}

// legend names colours in a line, each beside a mark: a bar for what is filled, and a line for what is drawn as one.
func (p *plot) legend(x, y float64, keys []plotKey) {
	const mark, gap, letterWidth = 14, 6, 11
	for _, k := range keys {
		switch k.Class {
		case "median":
			p.path("key "+k.Class, "M%v %vh%v", x, y-6, mark)
		case "wait":
			p.path("key "+k.Class, "M%v %vv%v", x+mark/2, y, -mark)
		default:
			p.path("key "+k.Class, "M%v %vh%vv%vh%vz", x, y, mark, -mark+2, -mark)
		}
		p.text("of", x+mark+gap, y, k.Text)
		x += mark + 2*gap + letterWidth*float64(len(k.Text))
	}
}

// wait draws the waits of a second: a line from the median to the longest.
func (p *plot) wait(y axis, left, width float64, s burst.Second) {
	median := tenth(y.at(float64(s.Median)))
	p.path("wait", "M%v %vV%v", tenth(left+width/2), median, tenth(y.at(float64(s.Longest))))
	p.path("median", "M%v %vh%v", tenth(left), median, tenth(width))
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

// moments adds those that are not too old, from the newest, each in the first row where its text fits. Without such a row it is a line
// without a text.
func (p *plot) moments(all []Moment, of burst.Rates, x axis, top, bottom float64) {
	const first, letterWidth = 17, 11
	begins := []float64{p.Width, p.Width} // of the newest text in each row
	for _, m := range slices.Backward(all) {
		if m.At < time.Duration(of.Before)*time.Second {
			continue
		}
		at, class := x.at(m.At.Seconds()), "moment"
		long := float64(letterWidth * len([]rune(m.Text)))
		from, to, text := at, at+long, at+4
		if to > p.Width {
			class, from, to, text = "moment before", at-long, at, at-4
		}
		line := top
		if free := slices.IndexFunc(begins, func(begin float64) bool { return to <= begin }); free >= 0 {
			line, begins[free] = first+momentRow*float64(free), from
			p.text(class, text, line, m.Text)
		}
		p.path("moment-line", "M%v %vV%v", tenth(at), line, bottom)
	}
}
