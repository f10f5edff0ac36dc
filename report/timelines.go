package report

import (
	"cmp"
	"slices"
	"strings"

	"locklab/history"
)

// addTimelines gives each timeline its height: clients above the servers.
func (c *canvas) addTimelines(events []history.Event) {
	c.Bottom = headRoom + headRow*len(c.rows)
	for _, name := range timelines(events) {
		c.heights[name] = c.Bottom + timelineHeight/2
		c.Timelines = append(c.Timelines, timeline{name, short(name, longName), c.heights[name]})
		c.Names.Width = max(c.Names.Width, wide(short(name, longName))*9/letter+24)
		c.Bottom += timelineHeight
	}
	c.Height = c.Bottom + axisRoom
	c.Names.Height = c.Height
	for i := range c.Faults {
		c.Faults[i].Height = c.Bottom
	}
}

// longName is the most letters of a name beside its timeline.
const longName = 14

func wide(text string) int { return letter * len([]rune(text)) }

// acts are the kinds of events that only a client has.
var acts = []history.Kind{history.Request, history.Grant, history.Release, history.Read, history.Write, history.Win, history.Command}

// timelines returns the names of the timelines of events: first those of clients, sorted, then the others.
func timelines(events []history.Event) []string {
	var clients, others []string
	for _, e := range events {
		if slices.Contains(acts, e.Kind) && !slices.Contains(clients, e.Timeline) {
			clients = append(clients, e.Timeline)
		}
	}
	for _, e := range events {
		if !slices.Contains(clients, e.Timeline) && !slices.Contains(others, e.Timeline) {
			others = append(others, e.Timeline)
		}
	}
	slices.SortStableFunc(clients, numerically)
	return append(clients, others...)
}

// numerically compares names: driver 2 comes before driver 10.
func numerically(a, b string) int {
	stem := func(name string) string { return strings.TrimRight(name, "0123456789") }
	return cmp.Or(strings.Compare(stem(a), stem(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
