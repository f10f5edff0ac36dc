package html

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"locklab/lab"
	"locklab/lab/report/drawing"
)

// curveOf draws two measurements of a variant, one over the other; nil where the experiment has no curve, or the run no line. Both scales
// are logarithmic.
func curveOf(run lab.Saved) *plot {
	defined := run.Experiment.Curve
	points := defined.Points(run.Record)
	var xs, ys []int64
	compared, joined := false, 0
	for _, p := range points {
		xs, ys = append(xs, p.X.Median()), append(ys, p.Y.Median())
		compared = compared || p.Timeline == defined.Compared
		if joins(defined, p.Timeline) {
			joined++
		}
	}
	if joined < 2 {
		return nil
	}
	xUnit, yUnit := points[0].X.Label(), points[0].Y.Label()
	p := &plot{Class: "chart", Width: 760, Height: 330, Name: yUnit + " over " + xUnit}
	x, xTicks := logarithmic(xs, points[0].X, 46, 680)
	y, yTicks := logarithmic(ys, points[0].Y, 278, 28)
	p.rows(x, y, yTicks)
	p.columns(x, y, xTicks)
	p.text("unit", 6, y.to-12, yUnit)
	p.text("x-unit", x.to, y.from+38, xUnit)
	var line route
	for i, of := range points {
		p.Says += fmt.Sprintf("%s: %s %s, %s %s. ", of.Timeline, of.X.Text(xs[i]), xUnit, of.Y.Text(ys[i]), yUnit)
		cx, cy := tenth(x.at(float64(xs[i]))), tenth(y.at(float64(ys[i])))
		if of.Timeline == defined.Compared {
			p.path("corner", "M%v %vH%vV%vH%[1]vz", x.from, cy, cx, y.from)
		}
		if joins(defined, of.Timeline) {
			line = append(line, fmt.Sprintf("%v %v", cx, cy))
		}
	}
	p.path("curve", "M%s", strings.Join(line, "L"))
	for i, of := range points {
		p.curvePoint(x.at(float64(xs[i])), y.at(float64(ys[i])), of.Timeline, defined)
	}
	p.Caption = curveCaption(defined, compared)
	return p
}

// joins reports whether the line goes through the point of a timeline.
func joins(defined lab.Curve, timeline string) bool {
	return strings.HasPrefix(timeline, defined.Line) && timeline != defined.Compared
}

// curvePoint draws a point with its name.
func (p *plot) curvePoint(cx, cy float64, timeline string, defined lab.Curve) {
	if !joins(defined, timeline) {
		dy := -7.0
		if defined.Compared == "" { // such points may lie near the line, whose names are above it
			dy = 15
		}
		p.dot("other", cx, cy, 6)
		p.text("other-text", cx+9, cy+dy, timeline)
		return
	}
	p.dot("point", cx, cy, 4.5)
	p.text("", cx+8, cy-6, strings.TrimPrefix(timeline, defined.Line+" "))
}

func curveCaption(defined lab.Curve, compared bool) string {
	caption := fmt.Sprintf("Medians of the trials; both scales are logarithmic. The line joins: %s.", defined.Line)
	if compared {
		caption += fmt.Sprintf(" A point in the shaded corner would be better in both than: %s.", defined.Compared)
	}
	return caption
}

// CurveSVG returns the curve of a run as a picture for another page, as [SVG] does. It is nil when there is none.
func CurveSVG(run lab.Saved) ([]byte, error) {
	c := curveOf(run)
	if c == nil {
		return nil, nil
	}
	c.Style = template.CSS(drawing.Preferred() + drawing.Style + chartStyle)
	var text bytes.Buffer
	err := pages().ExecuteTemplate(&text, "curve-picture", c)
	return bytes.Map(drawing.Printable, text.Bytes()), err
}

// logarithmic is an axis for values from 1 to 10¹⁷, with its ticks 1, 2, 5, 10, …
func logarithmic(values []int64, of lab.Measured, from, to float64) (axis, []axisTick) {
	const most = 1e17
	lowest, highest := int64(most), int64(1)
	for _, v := range values {
		lowest, highest = min(lowest, max(1, v)), max(highest, min(v, most))
	}
	var ticks []axisTick
	for decade := int64(1); len(ticks) < 2 || ticks[len(ticks)-1].value < float64(highest); decade *= 10 {
		for _, v := range []int64{decade, 2 * decade, 5 * decade} {
			if 2*v <= lowest {
				ticks = nil
			}
			if n := len(ticks); n < 2 || ticks[n-1].value < float64(highest) {
				ticks = append(ticks, axisTick{float64(v), withoutZeros(of.Text(v))})
			}
		}
	}
	return axis{ticks[0].value, ticks[len(ticks)-1].value, from, to, true}, ticks
}

func withoutZeros(text string) string {
	if strings.Contains(text, ".") {
		return strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
