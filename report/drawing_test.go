package report

import (
	"strings"
	"testing"
	"time"

	"locklab/history"
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
		{"without a violation", nil, "2 believe they hold it. 2 believe they hold it."},
		{"of A and B", &history.Violation{Events: []int{3, 4}}, "2 hold it simultaneously. 2 believe they hold it."},
		{"of something else", &history.Violation{Events: []int{1}}, "2 believe they hold it. 2 believe they hold it."},
		{"without an owner", &history.Violation{Events: []int{3}}, "2 hold it simultaneously. 2 hold it simultaneously."},
	} {
		if got := draw(events, c.found, inReport).Said; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := draw(told("A grant a", "A release a", "B grant b", "B release b"), nil, inReport); len(got.Overlaps) != 0 || len(got.Bars) != 2 {
		t.Errorf("one after the other: %d overlaps, %d bars", len(got.Overlaps), len(got.Bars))
	}
	three := draw(told("A grant a", "B grant b", "C grant c", "A write a", "C write c"), &history.Violation{Events: []int{4, 5}}, inReport)
	if !strings.Contains(three.Said, "hold it simultaneously") || !three.Bars[0].Open {
		t.Errorf("three simultaneously: %q, %+v", three.Said, three.Bars)
	}
}

// A fault covers all timelines until it ends, or to the end of the drawing.
func TestFaults(t *testing.T) {
	events := told("A request a", "n1 fault", "n2 fault", "n1 heal", "A grant a")
	events[1].Text = "the link to its replicas is cut, both ways"
	d := draw(events, nil, inReport)
	if len(d.Faults) != 2 || d.Faults[0].X+d.Faults[0].Width >= d.Width || d.Faults[1].LabelY == d.Faults[0].LabelY {
		t.Errorf("faults are %+v in a width of %d", d.Faults, d.Width)
	}
	if d.Timelines[0].Name != "A" || d.Faults[0].Height != d.Bottom {
		t.Errorf("timelines are %+v, the bottom is %d", d.Timelines, d.Bottom)
	}
}

// No label covers another in its row.
func TestLabelsHaveRoom(t *testing.T) {
	columns, _, width := layout(told(
		"A request a", "A grant a", "A read a", "B request b", "A write a", "A release a", "A released a", "B grant b", "B final", "B lose b",
	), inReport.room)
	ends := make(map[place]int)
	for _, c := range columns {
		at, half := place{c.Timeline, c.row}, wide(c.label)/2
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
