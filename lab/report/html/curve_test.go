package html

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/history"
)

// swept is a run whose curve has three points, beside a reference.
func swept() lab.Saved {
	var events []history.Event
	for _, m := range []struct {
		way            string
		requests, wait int64
	}{{"sleep 1 ms", 1161, 1470}, {"sleep 10 ms", 207, 3080}, {"sleep 100 ms", 44, 39_500}, {"message", 47, 550}} {
		events = append(events,
			lab.Tenths.Of("commands").Event(m.way, m.requests),
			lab.Microseconds.Of("until the next holder").Event(m.way, m.wait))
	}
	s := made(history.Counter, events...)
	s.Experiment.Curve = lab.Curve{
		Variant: "variant", X: lab.Tenths.Of("commands"), Y: lab.Microseconds.Of("until the next holder"),
		Line: "sleep", Compared: "message",
	}
	return s
}

// The points are where their medians are, the line joins those of the sleeps, and the message is beside it.
func TestCurve(t *testing.T) {
	c := curveOf(swept())
	if c == nil || len(c.Points) != 3 || len(c.Others) != 1 || strings.Count(c.Line, "L") != 2 {
		t.Fatalf("%+v", c)
	}
	fast, slow, message := c.Points[0], c.Points[2], c.Others[0]
	if fast.X <= slow.X || fast.Y <= slow.Y || message.X >= fast.X || message.Y <= fast.Y || message.X <= slow.X || fast.Text != "1 ms" {
		t.Errorf("1 ms at %+v, 100 ms at %+v, the message at %+v", fast, slow, message)
	}
	for _, p := range append(slices.Clone(c.Points), message) {
		if p.X < c.Left || p.X > c.Right || p.Y < c.Top || p.Y > c.Bottom {
			t.Errorf("a point outside: %+v", p)
		}
	}
	wants(t, c.Says, "sleep 10 ms: 20.7 commands, 3.08 ms until the next holder.", "message: 4.7 commands")
	wants(t, render(t, swept()), `class="curve"`, ">100 ms</text>", ">message</text>", "better in both than: message")
	svg, err := CurveSVG(swept())
	again, _ := CurveSVG(swept())
	if err != nil || string(svg) != string(again) {
		t.Errorf("the same run gives another picture, %v", err)
	}
	wants(t, string(svg), `<svg xmlns=`, "prefers-color-scheme:dark", `class="curve"`, ">message</text>")
	lacks(t, string(svg), "<script", `href="http`, "url(http", "ZgotmplZ")
}

func TestNoCurve(t *testing.T) {
	undefined, short := swept(), swept()
	undefined.Experiment.Curve = lab.Curve{}
	short.Record.Events = short.Record.Events[:3]
	for name, s := range map[string]lab.Saved{"it is not defined": undefined, "it has one point": short} {
		svg, err := CurveSVG(s)
		if svg != nil || err != nil || curveOf(s) != nil {
			t.Errorf("%s: %s, %v", name, svg, err)
		}
		lacks(t, render(t, s), `class="curve"`)
	}
}

// A scale has all of its values, however far apart they are.
func TestScale(t *testing.T) {
	for _, values := range [][]int64{{1, 1}, {-5, 0}, {47, 1161}, {1, 1 << 62}, {1 << 62, 1<<63 - 1}, {3}, nil} {
		s := newScale(values, 100, 0)
		if len(s.steps) < 2 || !slices.IsSorted(s.steps) {
			t.Errorf("%d: %d", values, s.steps)
		}
		for _, v := range values {
			if at := s.at(v); at < 0 || at > 100 {
				t.Errorf("%d: %d is at %d", values, v, at)
			}
		}
	}
}
