package html

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"locklab/lab/report/drawing"
)

// plot is a chart. What it shows is paths and texts, whose classes are those of chart.css, in the order in which they are drawn.
type plot struct {
	Class         string // of the whole
	Width, Height float64
	Stretched     bool // to the size of its place
	Name          string
	Says          string // all of it in a sentence, for a screen reader; empty: the page says it elsewhere
	Caption       string
	Marks         []plotted
	Keys          []plotKey // the legend
	Style         template.CSS
}

// plotted is a path, or a text at a point.
type plotted struct {
	Class, Path, Text string
	X, Y              float64
}

// plotKey is an entry of the legend. Its path lies in a box of 26 × 14.
type plotKey struct{ Class, Path, Text string }

func (p *plot) path(class, format string, at ...any) {
	p.Marks = append(p.Marks, plotted{Class: class, Path: fmt.Sprintf(format, at...)})
}

func (p *plot) text(class string, x, y float64, text string) {
	p.Marks = append(p.Marks, plotted{Class: class, X: tenth(x), Y: tenth(y), Text: text})
}

func (p *plot) dot(class string, x, y, radius float64) { p.path(class, "%s", circle(x, y, radius)) }

// circle is the path of a circle.
func circle(x, y, radius float64) string {
	return fmt.Sprintf("M%v %va%[3]v %[3]v 0 1 0 %[4]v 0a%[3]v %[3]v 0 1 0 -%[4]v 0z", tenth(x-radius), tenth(y), radius, 2*radius)
}

// bar stands on bottom. It is seen, however small it is, unless it is nothing.
func (p *plot) bar(class string, x, bottom, width, height float64) {
	if height > 0 {
		p.path(class, "M%v %vh%vv-%vh-%[3]vz", tenth(x), tenth(bottom), tenth(max(.5, width)), tenth(max(1, height)))
	}
}

// axisTick is a value of an axis that has a text.
type axisTick struct {
	value float64
	text  string
}

// rows draws a line across x at each step of y, with its text on the left.
func (p *plot) rows(x, y axis, ticks []axisTick) {
	for _, s := range ticks {
		p.path("grid", "M%v %vH%v", x.from, tenth(y.at(s.value)), x.to)
		p.text("y", x.from-6, y.at(s.value)+4, s.text)
	}
}

// columns draws a line from the top to the bottom of y at each step of x, with its text below.
func (p *plot) columns(x, y axis, ticks []axisTick) {
	for _, s := range ticks {
		p.path("grid", "M%v %vV%v", tenth(x.at(s.value)), y.to, y.from)
	}
	p.below(x, y.from, ticks)
}

// below writes the ticks of x below y.
func (p *plot) below(x axis, y float64, ticks []axisTick) {
	for _, s := range ticks {
		p.text("time", x.at(s.value), y+18, s.text)
	}
}

// axis maps the values from low to high to pixels. Values beyond stand at its ends.
type axis struct {
	low, high, from, to float64
	logarithmic         bool
}

func (a axis) at(value float64) float64 {
	low, high, value := a.low, a.high, min(max(value, a.low), a.high)
	if a.logarithmic {
		low, high, value = math.Log(low), math.Log(high), math.Log(value)
	}
	if high <= low {
		return a.from
	}
	return a.from + (value-low)/(high-low)*(a.to-a.from)
}

// timeTicks are the beginning, the middle and the end of a time.
func timeTicks(span time.Duration) []axisTick {
	return []axisTick{
		{0, "0 ms"}, {float64(span) / 2, drawing.Milliseconds(span/2) + " ms"}, {float64(span), drawing.Milliseconds(span) + " ms"},
	}
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }
