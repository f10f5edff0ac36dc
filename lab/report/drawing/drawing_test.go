package drawing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
)

// told makes events of lines such as "A grant a1": timeline, kind, owner.
func told(lines ...string) (events []history.Event) {
	for i, line := range lines {
		words := strings.Fields(line)
		e := history.Event{Seq: i + 1, At: time.Duration(i+1) * time.Millisecond, Timeline: words[0], Kind: history.Kind(words[1]), Key: "k"}
		if len(words) > 2 {
			e.Owner = words[2]
		}
		events = append(events, e)
	}
	return events
}

// An overlap is red where it had an effect, and only for the clients of the violation.
func TestOverlaps(t *testing.T) {
	events := told("A grant a", "B grant b", "A write a", "B write b", "B release b", "C grant c", "C release c", "A release a")
	for _, c := range []struct {
		name  string
		found *history.Violation
		want  string
	}{
		{"without a violation", nil, "2 holders, without an effect. 2 holders, without an effect."},
		{"of A and B", &history.Violation{Events: []int{3, 4}}, "2 holders. 2 holders, without an effect."},
		{"of something else", &history.Violation{Events: []int{1}}, "2 holders, without an effect. 2 holders, without an effect."},
		{"without an owner", &history.Violation{Events: []int{3}}, "2 holders. 2 holders."},
	} {
		if got := Draw(events, c.found, InReport).Said; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Draw(told("A grant a", "A release a", "B grant b", "B release b"), nil, InReport); len(got.Overlaps) != 0 || len(got.Bars) != 2 {
		t.Errorf("one after the other: %d overlaps, %d bars", len(got.Overlaps), len(got.Bars))
	}
	three := Draw(told("A grant a", "B grant b", "C grant c", "A write a", "C write c"), &history.Violation{Events: []int{4, 5}}, InReport)
	if !strings.Contains(three.Said, "up to 3 holders") {
		t.Errorf("three simultaneously: %q", three.Said)
	}
}

// A lock ends where its lease is over or another client is granted it. From there to where its holder learns of it, the bar
// is dashed. A release ends it whatever follows.
func TestALockEndsWithTheNextGrant(t *testing.T) {
	d := Draw(told("A grant a", "A read a", "B grant b", "B release b", "A write a", "A lose a"), nil, InReport)
	if len(d.Bars) != 3 || len(d.Ends) != 1 {
		t.Fatalf("bars are %+v, ends are %+v", d.Bars, d.Ends)
	}
	good, past, of := d.Bars[0], d.Bars[1], d.Bars[2]
	if good.Past || !past.Past || of.Past || good.X+good.Width != past.X || past.X != of.X || d.Ends[0].X != of.X ||
		past.X+past.Width <= of.X+of.Width {
		t.Errorf("bars are %+v, ends are %+v", d.Bars, d.Ends)
	}
	if parts := d.Overlaps[0].Bars; !parts[0].Past || parts[1].Past {
		t.Errorf("the parts of the overlap are %+v", parts)
	}
	alone := told("A grant a", "time note", "A write a", "A release a")
	alone[1].Name = history.LeaseEnds
	if d := Draw(alone, nil, InReport); len(d.Bars) != 2 || d.Bars[0].Past || !d.Bars[1].Past || len(d.Ends) != 1 {
		t.Errorf("the lease ends, and nobody else comes: bars are %+v, ends are %+v", d.Bars, d.Ends)
	}
	for name, events := range map[string][]history.Event{
		"released first": told("A grant a", "A release a", "B grant b", "A released a"),
		"one holder":     told("A grant a", "A grant a", "A release a"),
	} {
		if d := Draw(events, nil, InReport); len(d.Ends) > 0 {
			t.Errorf("%s: an end is at %+v", name, d.Ends)
		}
	}
	other := told("A grant a", "B grant b", "B release b", "A release a")
	other[1].Key = "another"
	if d := Draw(other, nil, InReport); len(d.Ends) > 0 {
		t.Errorf("the lock of another key ends it: %+v", d.Ends)
	}
}

// Hundreds of holders of which the drawing leaves out most have a bar where they are drawn, and not each one in the gap.
func TestALongTrialHasFewBars(t *testing.T) {
	steps := []string{"redis fault"}
	for n := range 300 {
		steps = append(steps, fmt.Sprintf("A request %d", n))
	}
	for n := range 300 {
		steps = append(steps, fmt.Sprintf("A grant %d", n), fmt.Sprintf("A write %d", n), fmt.Sprintf("A release %d", n))
	}
	events := told(append(steps, "redis final")...)
	d := Draw(events, &history.Violation{Events: []int{700}}, inPage)
	if n := len(d.Bars) + len(d.Waits); n > 2*inPage.events || len(d.Bars) < 5 {
		t.Errorf("%d bars and %d waits, of %d events", len(d.Bars), len(d.Waits), len(events))
	}
}

// The drawing of a replay has the place of everything from its first event on, and shows what has happened so far. The violation is marked
// at the end.
func TestAReplayDoesNotMove(t *testing.T) {
	events := told("A request a", "A grant a", "B request b", "B grant b", "A write 1", "B write 1", "B release b", "redis final")
	found := &history.Violation{Events: []int{5, 6}}
	whole := Draw(events, found, Live)
	for n, e := range events[:len(events)-1] {
		f := Live
		f.grows, f.until = true, e.Seq
		d := Draw(events, found, f)
		if d.Width != whole.Width || d.Height != whole.Height || len(d.Marks) != n+1 || !d.Marks[n].Newest {
			t.Errorf("after %d events: %d of %d wide, %d of %d high, %d marks", n+1, d.Width, whole.Width, d.Height, whole.Height, len(d.Marks))
		}
		for i, m := range d.Marks {
			if m.X != whole.Marks[i].X || m.Y != whole.Marks[i].Y || m.Shows {
				t.Errorf("after %d events the mark %d is %+v", n+1, i, m)
			}
		}
		if d.Later <= d.Marks[n].X || d.Later >= whole.Marks[n+1].X {
			t.Errorf("after %d events nothing is drawn from %d on", n+1, d.Later)
		}
	}
	if whole.Later != 0 || !whole.Marks[4].Shows {
		t.Errorf("at the end: %d, %+v", whole.Later, whole.Marks[4])
	}
}

// Of a violation by many events few have a circle, and the legend says which.
func TestCircles(t *testing.T) {
	var lines []string
	var all []int
	for i := range 40 {
		lines, all = append(lines, "A command"), append(all, i+1)
	}
	circles := func(shown []int) (n int, legend string) {
		d := Draw(told(lines...), &history.Violation{Events: shown}, InReport)
		for _, m := range d.Marks {
			if m.Shows {
				n++
			}
		}
		for _, k := range d.Keys {
			if k.Class == "shows" {
				legend = k.Text
			}
		}
		return n, legend
	}
	const few = "shows the violation: the first 3 and the last 3 of 40 events are marked"
	if n, legend := circles(all); n != mostCircles || legend != few {
		t.Errorf("40 events have %d circles: %q", n, legend)
	}
	if n, legend := circles(all[:mostCircles]); n != mostCircles || legend != "shows the violation" {
		t.Errorf("%d events have %d circles: %q", mostCircles, n, legend)
	}
}

// No label, name of a timeline, or fault is cut: a long one has several lines.
func TestNoLabelIsCut(t *testing.T) {
	const words = "one two three four five six seven eight nine ten eleven twelve"
	events := told("A request a", "A command a", "A lose a", "A note", "n fault")
	events[4].Timeline = "replication of the master"
	for i := range events {
		events[i].Text = words
	}
	d := Draw(events, nil, inPage)
	said := func(all []caption) string {
		var texts []string
		for _, c := range all {
			texts = append(texts, c.Text)
		}
		return strings.Join(texts, " ")
	}
	for _, m := range d.Marks[1:4] {
		if text := said(m.Label); !strings.HasSuffix(text, words) || len(m.Label) < 3 {
			t.Errorf("the label %q is cut, or is wide", text)
		}
	}
	last := d.Timelines[len(d.Timelines)-1]
	if fault, name := said(d.Faults[0].Lines), said(last.Lines); fault != "✗ replication of the master: "+words || name != last.Name {
		t.Errorf("the fault %q is cut, or the name %q", fault, name)
	}
}

// A fault covers all timelines until it ends, or to the end of the drawing.
func TestFaults(t *testing.T) {
	events := told("A request a", "n1 fault", "n2 fault", "n1 heal", "A grant a")
	events[1].Text = "the link to its replicas is cut, both ways"
	d := Draw(events, nil, InReport)
	if len(d.Faults) != 2 || d.Faults[0].X+d.Faults[0].Width >= d.Width || d.Faults[1].Lines[0].Y == d.Faults[0].Lines[0].Y {
		t.Errorf("faults are %+v in a width of %d", d.Faults, d.Width)
	}
	if d.Timelines[0].Name != "A" || d.Faults[0].Height != d.Bottom {
		t.Errorf("timelines are %+v, the bottom is %d", d.Timelines, d.Bottom)
	}
}

// Nodes are beside each other, in the order of their numbers, wherever they appear.
func TestTimelinesAreSorted(t *testing.T) {
	got := timelines(told("node-4 note", "n fault", "node-10 note", "driver-10 read", "node-1 note", "driver-2 read"))
	if want := []string{"driver-2", "driver-10", "node-1", "node-4", "node-10", "n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// No label covers another in its row.
func TestLabelsHaveRoom(t *testing.T) {
	columns, _, width := layout(told(
		"A request a", "A grant a", "A read a", "B request b", "A write a", "A release a", "A released a", "B grant b", "B final", "B lose b",
	), func(history.Event) string { return "" }, InReport.room)
	ends := make(map[place]int)
	for _, c := range columns {
		at, half := place{c.Timeline, c.row}, widest(c.label)/2
		if c.row == above || c.row == below {
			if c.x-half < ends[at] {
				t.Errorf("%q begins at %d, the one before ends at %d", c.label, c.x-half, ends[at])
			}
			ends[at] = c.x + half
		}
		if c.x+half > width {
			t.Errorf("%q ends beyond %d", c.label, width)
		}
	}
}

// Where a client goes from a lock to another and back, the labels name the keys.
func TestLabelsNameTheKeys(t *testing.T) {
	events := told("A request a", "A grant a", "A request b", "A refuse b", "A grant b", "A release b", "A release a")
	for i := range events {
		events[i].Key = "lock:" + events[i].Owner
	}
	var labels []string
	for _, m := range Draw(events, nil, InReport).Marks {
		for _, l := range m.Label {
			labels = append(labels, l.Text)
		}
	}
	const want = "requests a, holds a, requests b, refused b, holds b, releases b, releases a"
	if got := strings.Join(labels, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// No label begins before its row, which would cut it off.
func TestLabelsBeginInTheirRow(t *testing.T) {
	events := told("A request a", "A grant a", "B released b", "C request c")
	for i := range events[2:] {
		events[2+i].At += time.Second
	}
	columns, rows, _ := stretched(events, func(history.Event) string { return "with a long name" }, 140, step, 200)
	last := columns[len(columns)-1]
	if begins := rows[len(rows)-1]; len(rows) < 2 || last.x-widest(last.label)/2 < begins {
		t.Errorf("%q stands at %d, its row of %v begins at %d", last.label, last.x, rows, begins)
	}
}
