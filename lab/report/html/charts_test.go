package html

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/history"
)

// count is how many marks of a class a plot has.
func (p *plot) count(class string) (n int) {
	for _, m := range p.Marks {
		if m.Class == class {
			n++
		}
	}
	return n
}

// fits checks that a plot says what it shows, and that nothing of it stands outside.
func fits(t *testing.T, p *plot) {
	t.Helper()
	if p.Says == "" || p.Name == "" {
		t.Error("it has no text for a screen reader")
	}
	absolute := regexp.MustCompile(`[ML](-?[\d.]+) (-?[\d.]+)`)
	for _, m := range p.Marks {
		points := [][2]float64{{m.X, m.Y}}
		for _, at := range absolute.FindAllStringSubmatch(m.Path, -1) {
			x, _ := strconv.ParseFloat(at[1], 64)
			y, _ := strconv.ParseFloat(at[2], 64)
			points = append(points, [2]float64{x, y})
		}
		for _, at := range points {
			if at[0] < 0 || at[0] > p.Width || at[1] < 0 || at[1] > p.Height {
				t.Errorf("%+v stands outside of %v × %v", m, p.Width, p.Height)
			}
		}
	}
}

// Hundreds of writes are shown beside those that were confirmed, with what is lost. Without a loss the two are one line.
func TestACounterOverTime(t *testing.T) {
	lost, kept := bursts(views(666, 19))[0], bursts(views(666, 1))[0]
	fits(t, lost)
	fits(t, kept)
	wants(t, lost.Says, "666 writes of pview were confirmed, and it ends at 36: 630 are lost; 665 of them wrote a value")
	if lost.count("loss") != 1 || lost.count("twice") != 1 || kept.count("loss") != 0 || kept.count("twice") != 0 {
		t.Errorf("losses are %+v, and without one %+v", lost.Marks, kept.Marks)
	}
	wants(t, fmt.Sprint(kept.Marks), "all 666 are there", "L600 14") // its line goes to the corner
}

// Thirty loads at one moment are one high bar, and as many over time are low ones.
func TestLoadsOverTime(t *testing.T) {
	trial := func(every time.Duration) (events []history.Event) {
		events = append(events, history.Event{Timeline: "client", Kind: history.Note})
		for i := range 30 {
			at := time.Duration(i)*every + time.Millisecond
			events = append(events, history.Event{Timeline: "database", Kind: history.Command, Name: history.Load, At: at})
		}
		return append(events, history.Event{Timeline: "client", Kind: history.Note, At: time.Second})
	}
	steps := trial(30 * time.Millisecond)
	for i := range steps {
		if i%10 == 5 {
			steps = append(steps, history.Event{Timeline: "Redis", Kind: history.Note, Name: history.TimePasses, At: steps[i].At})
		}
	}
	for name, c := range map[string]struct {
		events []history.Event
		bars   int
		says   string
	}{
		"at one moment":         {trial(time.Microsecond), 1, "30 loads reached the database; at most 30 in 25.0 ms"},
		"over time":             {trial(30 * time.Millisecond), 30, "at most 1 in 25.0 ms"},
		"time passes in steps ": {steps, 4, "at most 10 in a moment"},
	} {
		p := loadsOver(c.events)
		fits(t, p)
		if n := p.count("amount"); n != c.bars || !strings.Contains(p.Says, c.says) {
			t.Errorf("%s: %d bars, %s", name, n, p.Says)
		}
	}
	if p := loadsOver(trial(time.Microsecond)[:10]); p != nil {
		t.Errorf("few loads are drawn: %+v", p)
	}
}

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

// The curve of a run is a picture for another page: the points of the line, and what it is compared with. The same run gives the same
// bytes.
func TestCurve(t *testing.T) {
	c := curveOf(swept())
	fits(t, c)
	if c.count("point") != 3 || c.count("other") != 1 || c.count("corner") != 1 {
		t.Errorf("%+v", c.Marks)
	}
	wants(t, c.Says, "sleep 10 ms: 20.7 commands, 3.08 ms until the next holder.", "message: 4.7 commands")
	wants(t, render(t, swept()), ">100 ms</text>", ">message</text>", "better in both than: message")
	svg, err := CurveSVG(swept())
	again, _ := CurveSVG(swept())
	if err != nil || string(svg) != string(again) {
		t.Errorf("the same run gives another picture, %v", err)
	}
	isPicture(t, svg)
	beside := swept()
	beside.Experiment.Curve.Line, beside.Experiment.Curve.Compared = "sleep 1", "" // of 1, 10 and 100 ms
	if c := curveOf(beside); c.count("point") != 3 || c.count("other") != 1 || c.count("corner") != 0 {
		t.Errorf("with a point beside the line that is compared with nothing: %+v", c.Marks)
	}
	undefined, short := swept(), swept()
	undefined.Experiment.Curve = lab.Curve{}
	short.Record.Events = short.Record.Events[:3]
	for name, s := range map[string]lab.Saved{"it is not defined": undefined, "it has one point": short} {
		if svg, err := CurveSVG(s); svg != nil || err != nil {
			t.Errorf("%s: %s, %v", name, svg, err)
		}
	}
}

// A logarithmic axis has all of its values, however far apart they are.
func TestLogarithmicAxis(t *testing.T) {
	for _, values := range [][]int64{{1, 1}, {-5, 0}, {47, 1161}, {1, 1 << 62}, {1 << 62, 1<<63 - 1}, {3}, nil} {
		a, ticks := logarithmic(values, lab.Measured{Quantity: lab.Count.Of("x")}, 100, 0)
		if len(ticks) < 2 || !slices.IsSortedFunc(ticks, func(a, b axisTick) int { return int(a.value/b.value) - 1 }) {
			t.Errorf("%d: %v", values, ticks)
		}
		for _, v := range values {
			if at := a.at(float64(v)); !(at >= 0 && at <= 100) {
				t.Errorf("%d: %d is at %v", values, v, at)
			}
		}
	}
}

// left is a run that left a final value of each version.
func left(users int, of map[string]int64) *burst.Results {
	r := &burst.Results{Users: users}
	for version, value := range of {
		r.Pageview = append(r.Pageview, burst.PageviewRow{Judged: burst.Judged{Version: version}, Counts: burst.Counts{Final: value}})
	}
	return r
}

// rated draws seconds of a load.
func rated(t *testing.T, of burst.Rates, room int, moments ...Moment) string {
	t.Helper()
	var text strings.Builder
	if err := Rates(&text, of, 480, room, moments); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// ratesOf are three seconds of a load, of which the second has no answer.
func ratesOf() burst.Rates {
	return burst.Rates{Failed: 30, Lost: 4, Before: 7, Seconds: []burst.Second{
		{Confirmed: 10, Median: time.Millisecond, Longest: 100 * time.Millisecond}, {}, {Confirmed: 10, Failed: 30, Lost: 4, Longest: time.Hour},
	}}
}

// The plot has a bar for each second with an answer: its failures stand on its confirmed answers. One failure beside thousands of answers
// is seen.
func TestRatesAreDrawn(t *testing.T) {
	text := rated(t, ratesOf(), 60)
	wants(t, text, ">40</text>", ">1 s</text>", "Failed so far: 30. Lost so far: 4.")
	if n := strings.Count(text, `class="amount"`) + strings.Count(text, `class="failed"`) + strings.Count(text, `class="lost"`); n != 4 {
		t.Errorf("%d bars; a second without an answer has none", n)
	}
	small := rated(t, burst.Rates{Seconds: []burst.Second{{Confirmed: 1, Failed: 1, Lost: 1}, {Confirmed: 5000, Lost: 5000}}}, 60)
	if n := strings.Count(small, `v-1h`); n != 3 {
		t.Errorf("%d of 3 are seen in\n%s", n, small)
	}
}

// A change of the servers is a line at its moment. One that is older than the plot is left out, and so is the text of an older one
// without a free row.
func TestMomentsOfALoadAreDrawn(t *testing.T) {
	text := rated(t, ratesOf(), 60, Moment{time.Second, "kill early"}, Moment{7500 * time.Millisecond, "no room"},
		Moment{time.Minute, "kill master"}, Moment{time.Minute, "<now>"})
	wants(t, text, ">kill master</text>", ">&lt;now&gt;<")
	lacks(t, text, "kill early", "no room")
	if n := strings.Count(text, "moment-line"); n != 3 {
		t.Errorf("%d moments have a line", n)
	}
}

// What was counted lies below a counter that loses nothing, and what was lost between the two. Answers that come late do not matter. At the
// right end is the final value. A line goes through each cell once, however many writes there are.
func TestAClimbIsDrawn(t *testing.T) {
	climb := func(users int, final int64, all ...Written) (text, lost, counted string) {
		var b strings.Builder
		if err := Climb(&b, users, all, final); err != nil {
			t.Fatal(err)
		}
		area := func(class string) string {
			_, path, _ := strings.Cut(b.String(), `<path class="area `+class+`" d="`)
			path, _, _ = strings.Cut(path, `"`)
			return path
		}
		return b.String(), area("lost"), area("second")
	}
	text, all, counted := climb(4, 3, Written{0, 1}, Written{1, 3}, Written{0, 1}, Written{1, 2})
	wants(t, text, "4 views of 4 confirmed, and 1 lost")
	if all == counted || !strings.Contains(counted, "L120 20L") || !strings.Contains(all, "L120 0L") {
		t.Errorf("of a counter at 3 of 4 %q are drawn as counted, and %q in all", counted, all)
	}
	if _, all, counted = climb(4, 4, Written{0, 4}, Written{1, 1}, Written{0, 2}, Written{1, 3}); all != counted {
		t.Errorf("nothing is lost, and %q of %q are drawn as counted", counted, all)
	}
	if _, _, stale := climb(4, 1, Written{0, 1}, Written{1, 2}, Written{0, 3}, Written{1, 4}); !strings.Contains(stale, "L120 60L") {
		t.Errorf("the last write was a stale 1: %q", stale)
	}
	var many []Written
	for i := range 10_000 { // two instances that lose nothing
		many = append(many, Written{i % 2, int64(i + 1)})
	}
	if text, _, _ := climb(len(many), -1, many...); strings.Count(text, "L") > 1000 || !strings.Contains(text, "L") {
		t.Errorf("10000 writes make %d points", strings.Count(text, "L"))
	}
}

// The plot of final values has each run, so that runs with different users compare. A reader without the picture gets the same as a table.
func TestFinalsArePlotted(t *testing.T) {
	var text strings.Builder
	runs := []*burst.Results{left(600, map[string]int64{"v1": 300, "v3": 601}), left(20, map[string]int64{"v1": 5})}
	if err := Finals(&text, runs, "v1", []int64{20, 0}); err != nil {
		t.Fatal(err)
	}
	wants(t, text.String(),
		"<td>300 of 600, 5 of 20</td><td>34 of 666</td><td>0 of 20, 20 of 20</td>", "<td>601 of 600</td><td>–</td><td>–</td>")
	lacks(t, text.String(), "v2") // it has no run
}
