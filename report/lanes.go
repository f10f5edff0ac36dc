package report

import (
	"cmp"
	"slices"
	"strings"

	"locklab/history"
)

// addLanes gives each lane its height: who asks and works above what is asked.
func (c *canvas) addLanes(events []history.Event) {
	c.Bottom = headRoom + headRow*len(c.rows)
	for _, name := range laneNames(events) {
		c.lanes[name] = c.Bottom + laneHeight/2
		c.Lanes = append(c.Lanes, lane{name, short(name, longName), c.lanes[name]})
		c.Names.Width = max(c.Names.Width, wide(short(name, longName))*9/letter+24)
		c.Bottom += laneHeight
	}
	c.Height = c.Bottom + axisRoom
	c.Names.Height = c.Height
	for i := range c.Faults {
		c.Faults[i].Height = c.Bottom
	}
}

// longName is how many letters of a lane's name are shown beside it.
const longName = 14

func wide(text string) int { return letter * len([]rune(text)) }

// acts are the kinds of events that only a client has.
var acts = []history.Kind{history.Request, history.Grant, history.Release, history.Read, history.Write, history.Win, history.Command}

func laneNames(events []history.Event) []string {
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
	slices.SortStableFunc(clients, inOrder)
	return append(clients, others...)
}

// inOrder compares names as one counts: driver 2 comes before driver 10.
func inOrder(a, b string) int {
	stem := func(name string) string { return strings.TrimRight(name, "0123456789") }
	return cmp.Or(strings.Compare(stem(a), stem(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// unmeasured leaves out the measurements, which are drawn by themselves.
func unmeasured(events []history.Event) []history.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return e.Kind == history.Measure })
}
