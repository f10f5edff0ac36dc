package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"locklab/lab/history"
	"locklab/lab/testenv"
)

// A picture is a small XML file without a script, light and dark, and the same events give the same bytes.
func TestSVG(t *testing.T) {
	for name, events := range map[string][]history.Event{
		"a failover": failover().Record.Events, "666 views": views(666, 19), "300 timelines": manyTimelines(300),
		"a text that is no XML": told("A\x1b<&]]> note"),
	} {
		t.Run(name, func(t *testing.T) {
			svg, err := SVG(events, &history.Violation{Events: []int{1}})
			if err != nil {
				t.Fatal(err)
			}
			again, _ := SVG(events, &history.Violation{Events: []int{1}})
			if !bytes.Equal(svg, again) {
				t.Error("the same events give another picture")
			}
			if testenv.Whole.Runs() && len(svg) > 30_000 {
				t.Errorf("it has %d bytes", len(svg))
			}
			isPicture(t, svg)
			wants(t, string(svg), "time in ms")
		})
	}
	if svg, err := SVG(nil, nil); svg != nil || err != nil {
		t.Errorf("of nothing it is %q, %v", svg, err)
	}
}

// isPicture checks that a picture is XML without a script, light and dark, which asks nothing of a server.
func isPicture(t *testing.T, svg []byte) {
	t.Helper()
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("it is no XML: %v", err)
		}
	}
	wants(t, string(svg), `<svg xmlns=`, "aria-label=", "prefers-color-scheme:dark")
	lacks(t, string(svg), "<script", `href="http`, "url(http", "onload", "tabindex", "ZgotmplZ")
}

func manyTimelines(n int) []history.Event {
	events := views(n, 1)
	for i := range events[:len(events)-1] {
		events[i].Timeline = events[i].Owner
	}
	return events
}

// The refused write, the token 1 and the time 0.0 are in the picture of a pause that a token protects from.
func TestSVGShowsWhatAReaderLooksFor(t *testing.T) {
	events := told("A grant a", "B grant b", "B write b", "A stale a", "A stale a", "A stale a")
	events[3].Value, events[4].Name, events[5].Name = 1, history.RefusedRead, history.RefusedAll
	events[0].Token, events[1].Token = 1795336135749408, 1795336135800467
	svg, err := SVG(events, nil)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(svg), ">token 1<", ">token 2<", ">write 1 refused<", ">read refused<", ">refused<", ">0.0<", "tokens are counted here")
	lacks(t, string(svg), "1795336135749408")
}

// A picture is as wide as its legend, however short its rows are. An overlap that goes on in the next row has its number there, too.
func TestLegendsAndOverlapsFit(t *testing.T) {
	short := draw(told("A read a"), nil, inPage)
	p := picture{drawing: short}
	p.Keys = append(p.Keys, key{Text: strings.Repeat("long ", 60)})
	p.arrange()
	if last := p.Keys[len(p.Keys)-1]; p.Width < last.X+last.Width {
		t.Errorf("the picture has %d, and its legend ends at %d", p.Width, last.X+last.Width)
	}
	lines := []string{"A grant a", "B grant b"}
	for range 40 {
		lines = append(lines, "A read a")
	}
	wide := draw(told(append(lines, "A release a")...), nil, inPage)
	if o := wide.Overlaps[0]; len(wide.Rows) < 2 || len(o.Label) != len(wide.Rows) {
		t.Errorf("%d rows, and %d labels", len(wide.Rows), len(o.Label))
	}
}

// However wide a drawing is, each of its rows fits, and every event is in exactly one row. No label is cut at its ends.
func TestRowsFit(t *testing.T) {
	long := told(
		"A request a", "A grant a", "n fault", "A read a", "B request b", "B grant b", "B write b", "A write a", "A release a", "B lose b",
	)
	long[2].Text = strings.Repeat("the link is cut ", 5)
	for len(long) < 70 {
		for _, e := range long[:10] {
			e.Seq = len(long) + 1
			e.At = long[len(long)-1].At + 1
			long = append(long, e)
		}
	}
	for _, f := range []format{inReport, inPage} {
		d := draw(long, nil, f)
		marks := 0
		for i, row := range d.Rows {
			marks += len(row.Marks)
			if d.Names.Width+row.Width > f.room {
				t.Errorf("row %d is %d pixels wide, and there are %d", i, d.Names.Width+row.Width, f.room)
			}
			for _, m := range row.Marks {
				for _, line := range m.Label {
					left, right := line.X-wide(line.Text)/2, line.X+wide(line.Text)/2
					if m.Begins {
						left, right = line.X, line.X+wide(line.Text)
					}
					if left < row.From || right > row.From+row.Width {
						t.Errorf("%q from %d to %d is cut: row %d is from %d to %d", line.Text, left, right, i, row.From, row.From+row.Width)
					}
				}
			}
			for _, b := range row.Faults {
				for _, line := range b.Lines {
					if line.X < row.From || line.X+wide(line.Text) > row.From+row.Width {
						t.Errorf("%q at %d is cut: row %d is from %d to %d", line.Text, line.X, i, row.From, row.From+row.Width)
					}
				}
			}
		}
		if len(d.Rows) < 2 || marks != len(d.Marks) {
			t.Errorf("%d rows have %d of %d events", len(d.Rows), marks, len(d.Marks))
		}
	}
}
