package html

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"locklab/lab/burst"
)

// Moment is something that happened during a load: a line through the plot.
type Moment struct {
	At   time.Duration // since the load began
	Text string
}

// The measures of the plot of a load. Three panels stand above each other: answers, waits, losses. The names of the moments are above them.
const (
	rateLeft, rateRight                                   = 46, 472
	answersTop, answersBottom                             = 70, 134
	waitsTop, waitsBottom                                 = 156, 216
	lossesTop, lossesBottom                               = 238, 262
	rateWidth, rateHeight, tickWidth                      = 480, 284, 36
	momentRows, momentRow, momentFirst, momentLetterWidth = 3, 15, 14, 7
)

// longestWait is the top of the scale of waits, which is logarithmic from 1 ms.
const longestWait = 100 * time.Second

// rates are the answers to a load, second by second.
type rates struct {
	chart
	Says           string
	Most, Lost     int // answers in a second; views that are lost
	Bars           []rateBar
	XTicks, YTicks []tick
	Moments        []rateMoment

	AnswersTop, WaitsTop, LossesTop, LossesBottom int
}

// rateBar is a second. Its failures stand on its confirmed answers. Its waits are a line from the median to the longest.
type rateBar struct {
	X, Width                float64
	Confirmed, Failed, Lost int // heights
	Middle, Y, LostY        int
	Waits                   bool
	Center                  float64
	MedianY, LongestY       int
}

type rateMoment struct {
	X      float64
	Y      int
	Anchor string
	Text   string
}

// Rates writes a plot of a load, with room for some seconds. The newest is at the right.
func Rates(w io.Writer, of burst.Rates, room int, moments []Moment) error {
	r := rates{
		chart:      chart{Width: rateWidth, Height: rateHeight, Left: rateLeft, Right: rateRight, Top: answersTop, Bottom: answersBottom},
		Lost:       of.Lost,
		AnswersTop: answersTop, WaitsTop: waitsTop, LossesTop: lossesTop, LossesBottom: lossesBottom,
	}
	mostLost, longest := 1, time.Duration(0)
	for _, s := range of.Seconds {
		r.Most, mostLost, longest = max(r.Most, s.Confirmed+s.Failed), max(mostLost, s.Lost), max(longest, s.Longest)
	}
	width, end := float64(rateRight-rateLeft)/float64(room), of.Before+len(of.Seconds)
	at := func(seconds float64) float64 { return tenth(rateRight - (float64(end)-seconds)*width) }
	for i, s := range of.Seconds {
		second := of.Before + i
		b := rateBar{
			X: at(float64(second)), Width: tenth(max(.5, width-1)), Center: at(float64(second) + .5),
			Confirmed: share(s.Confirmed, r.Most, answersBottom-answersTop), Failed: share(s.Failed, r.Most, answersBottom-answersTop),
			Lost: share(s.Lost, mostLost, lossesBottom-lossesTop), Waits: s.Longest > 0, MedianY: waitY(s.Median), LongestY: waitY(s.Longest),
		}
		b.Middle, b.LostY = answersBottom-b.Confirmed, lossesBottom-b.Lost
		b.Y = b.Middle - b.Failed
		r.Bars = append(r.Bars, b)
	}
	for _, t := range []struct {
		wait time.Duration
		text string
	}{{time.Millisecond, "1 ms"}, {100 * time.Millisecond, "0.1 s"}, {10 * time.Second, "10 s"}} {
		r.YTicks = append(r.YTicks, tick{waitY(t.wait), t.text})
	}
	step := 10
	for step*7 < room {
		step *= 3
	}
	for second := (of.Before + step - 1) / step * step; second <= end; second += step {
		if x := int(at(float64(second))); x+tickWidth/2 <= rateWidth { // otherwise it would be cut
			r.XTicks = append(r.XTicks, tick{x, fmt.Sprintf("%d s", second)})
		}
	}
	r.mark(moments, of, at)
	r.Says = fmt.Sprintf("The last %d seconds of a load: at most %d answers in one, and the longest wait was %s. "+
		"Failed so far: %d. Lost so far: %d.", len(of.Seconds), r.Most, longest.Round(time.Millisecond), of.Failed, of.Lost)
	return pages.ExecuteTemplate(w, "rates", r)
}

// share is the height of n, of which most fills a height. It is at least a pixel: one failure beside a thousand answers is seen.
func share(n, most, height int) int {
	if n == 0 {
		return 0
	}
	return max(1, n*height/most)
}

// mark adds the moments that are not too old, each in the first row where its text fits. Without such a row it is a line without a text.
func (r *rates) mark(moments []Moment, of burst.Rates, at func(seconds float64) float64) {
	ends := make([]float64, momentRows)
	for _, m := range moments {
		if m.At < time.Duration(of.Before)*time.Second {
			continue
		}
		x := min(at(m.At.Seconds()), rateRight)
		shown := rateMoment{X: x, Text: m.Text, Anchor: "start"}
		long := float64(momentLetterWidth * len([]rune(m.Text)))
		from := x
		if x+long > rateWidth {
			shown.Anchor, from = "end", x-long
		}
		row := slices.IndexFunc(ends, func(end float64) bool { return end < from })
		if row >= 0 {
			ends[row], shown.Y = from+long, momentFirst+row*momentRow
		} else {
			shown.Text, shown.Y = "", answersTop
		}
		r.Moments = append(r.Moments, shown)
	}
}

// waitY is where a wait lies in its panel.
func waitY(wait time.Duration) int {
	part := math.Log10(float64(max(wait, time.Millisecond))/float64(time.Millisecond)) / math.Log10(float64(longestWait/time.Millisecond))
	return waitsBottom - int(math.Round(min(1, part)*(waitsBottom-waitsTop)))
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }
