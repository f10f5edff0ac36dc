package html

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strings"

	"locklab/lab"
)

// curve shows two measurements of a variant, one over the other. Both scales are logarithmic.
type curve struct {
	chart
	XUnit, YUnit   string
	XTicks, YTicks []tick
	Line           string  // a path through the points of it
	Points         []point // of the line
	Others         []point // with which the line is compared
	Says, Caption  string
}

type point struct {
	X, Y int
	Text string
}

var curveFrame = chart{Width: chartWidth, Height: 330, Left: chartLeft, Right: 680, Top: 28, Bottom: 278}

// curveOf returns the curve of a run; nil where the experiment has none, or the run no line.
func curveOf(run lab.Saved) *curve {
	defined := run.Experiment.Curve
	points := defined.Points(run.Record)
	var xs, ys []int64
	for _, p := range points {
		xs, ys = append(xs, p.X.Median()), append(ys, p.Y.Median())
	}
	c := &curve{chart: curveFrame}
	x, y := newScale(xs, c.Left, c.Right), newScale(ys, c.Bottom, c.Top)
	for _, p := range points {
		drawn := point{x.at(p.X.Median()), y.at(p.Y.Median()), p.Timeline}
		c.Says += fmt.Sprintf("%s: %s %s, %s %s. ", p.Timeline, p.X.Text(p.X.Median()), p.X.Label(), p.Y.Text(p.Y.Median()), p.Y.Label())
		if p.Timeline == defined.Compared {
			c.Others = append(c.Others, drawn)
			continue
		}
		drawn.Text = strings.TrimPrefix(p.Timeline, defined.Line+" ")
		c.Line += fmt.Sprintf("%s%d %d", map[bool]string{true: "M", false: "L"}[c.Line == ""], drawn.X, drawn.Y)
		c.Points = append(c.Points, drawn)
	}
	if len(c.Points) < 2 {
		return nil
	}
	c.XUnit, c.YUnit = points[0].X.Label(), points[0].Y.Label()
	c.XTicks, c.YTicks = x.ticks(points[0].X), y.ticks(points[0].Y)
	c.Caption = fmt.Sprintf("Medians of the trials; both scales are logarithmic. The line joins: %s.", defined.Line)
	if len(c.Others) > 0 {
		c.Caption += fmt.Sprintf(" A point in the shaded corner would be better in both than: %s.", defined.Compared)
	}
	return c
}

// CurveSVG returns the curve of a run as a picture for another page, as [SVG] does. It is nil when there is none.
func CurveSVG(run lab.Saved) ([]byte, error) {
	c := curveOf(run)
	if c == nil {
		return nil, nil
	}
	var text bytes.Buffer
	err := pages.ExecuteTemplate(&text, "curve-picture", struct {
		*curve
		Style template.CSS
	}{c, template.CSS(preferred() + drawingStyle + chartStyle)})
	return bytes.Map(printable, text.Bytes()), err
}

// scale is logarithmic, from its first step to its last.
type scale struct {
	steps    []int64 // 1, 2, 5, 10, …
	from, to int
}

// newScale is a scale for values from 1 to 10¹⁷; others are at its ends.
func newScale(values []int64, from, to int) scale {
	const most = 1e17
	lowest, highest := int64(most), int64(1)
	for _, v := range values {
		lowest, highest = min(lowest, max(1, v)), max(highest, min(v, most))
	}
	s := scale{from: from, to: to}
	for decade := int64(1); decade <= most; decade *= 10 {
		for _, step := range []int64{decade, 2 * decade, 5 * decade} {
			if 2*step <= lowest {
				s.steps = nil
			}
			if s.steps = append(s.steps, step); step >= highest && len(s.steps) > 1 {
				return s
			}
		}
	}
	return s
}

func (s scale) at(v int64) int {
	first, last := math.Log(float64(s.steps[0])), math.Log(float64(s.steps[len(s.steps)-1]))
	part := min(1, (math.Log(float64(max(1, v)))-first)/(last-first))
	return s.from + int(math.Round(part*float64(s.to-s.from)))
}

func (s scale) ticks(m lab.Measured) (all []tick) {
	for _, step := range s.steps {
		text := m.Text(step)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		all = append(all, tick{s.at(step), text})
	}
	return all
}
