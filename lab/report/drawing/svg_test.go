package drawing

import (
	"strings"
	"testing"

	"locklab/lab/history"
)

// The refused write, the token 1 and the time 0.0 are in the picture of a pause that a token protects from.
func TestSVGShowsWhatAReaderLooksFor(t *testing.T) {
	events := told("A grant a", "B grant b", "B write b", "A stale a", "A stale a", "A stale a")
	events[3].Value, events[4].Name, events[5].Name = 1, history.RefusedRead, history.RefusedAll
	events[0].Token, events[1].Token = 1795336135749408, 1795336135800467
	svg, err := SVG(events, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		">token 1<", ">token 2<", ">write 1 refused<", ">read refused<", ">refused<", ">0.0<", "tokens are counted here",
	} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%q is missing in %s", want, svg)
		}
	}
	if strings.Contains(string(svg), "1795336135749408") {
		t.Error("a token is not counted from the first")
	}
}

// However long a history is, every event is in exactly one row, and each row fits. An overlap that goes on in the next row has its number
// there, too.
func TestRowsFit(t *testing.T) {
	lines := []string{"A request a", "A grant a", "B request b", "B grant b"}
	for range 40 {
		lines = append(lines, "A read a")
	}
	for _, f := range []Format{InReport, inPage} {
		d, marks := Draw(told(append(lines, "A release a")...), nil, f), 0
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
