package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"locklab/lab/history"
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

// However long a history is, every event is in exactly one row, and each row fits. An overlap that goes on in the next row has its number
// there, too.
func TestRowsFit(t *testing.T) {
	lines := []string{"A request a", "A grant a", "B request b", "B grant b"}
	for range 40 {
		lines = append(lines, "A read a")
	}
	for _, f := range []format{inReport, inPage} {
		d, marks := draw(told(append(lines, "A release a")...), nil, f), 0
		for i, row := range d.Rows {
			marks += len(row.Marks)
			if d.Names.Width+row.Width > f.room {
				t.Errorf("row %d is %d pixels wide, and there are %d", i, d.Names.Width+row.Width, f.room)
			}
		}
		if o := d.Overlaps[0]; len(d.Rows) < 2 || marks != len(d.Marks) || len(o.Label) != len(d.Rows) {
			t.Errorf("%d rows have %d of %d events, and %d labels of the overlap", len(d.Rows), marks, len(d.Marks), len(o.Label))
		}
	}
}
