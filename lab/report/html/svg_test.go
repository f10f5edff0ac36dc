package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"locklab/lab/history"
	"locklab/lab/report/drawing"
)

// A picture is a small XML file without a script, light and dark, and the same events give the same bytes.
func TestSVG(t *testing.T) {
	for name, events := range map[string][]history.Event{
		"a failover": failover().Record.Events, "666 views": views(666, 19), "300 timelines": manyTimelines(300),
		"a text that is no XML": {{Seq: 1, Timeline: "A\x1b<&]]>", Kind: history.Note}},
	} {
		t.Run(name, func(t *testing.T) {
			svg, err := drawing.SVG(events, &history.Violation{Events: []int{1}})
			if err != nil {
				t.Fatal(err)
			}
			again, _ := drawing.SVG(events, &history.Violation{Events: []int{1}})
			if !bytes.Equal(svg, again) {
				t.Error("the same events give another picture")
			}
			isPicture(t, svg)
			wants(t, string(svg), "time in ms")
		})
	}
	if svg, err := drawing.SVG(nil, nil); svg != nil || err != nil {
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
