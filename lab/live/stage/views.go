package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/lab/history"
)

// view is a page view that was counted: its copy has written Value, and so had read one less.
type view struct {
	copy  string
	value int64
}

// viewsOf are the views of a burst, in a sequence that explains their numbers: the copies say what they wrote, not when. The last one wrote
// what the counter shows in the end.
func viewsOf(events []history.Event) (all []view) {
	final := int64(-1)
	for _, e := range events {
		switch {
		case e.Kind == history.Write && strings.HasPrefix(e.Owner, "request "):
			all = append(all, view{e.Timeline, e.Value})
		case e.Kind == history.Final:
			final = e.Value
		}
	}
	slices.SortStableFunc(all, func(a, b view) int { return cmp.Compare(a.value, b.value) })
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].value == final {
			last := all[i]
			return append(slices.Delete(all, i, i+1), last)
		}
	}
	return all
}

// A burst takes so long in all, in ms, and a step of it at most so long.
const (
	burstTakes = 8000
	groupTakes = 1800
)

// burst is one whose views are drawn.
type burst struct {
	*director
	shows  int64   // the counter
	values []int64 // that the views have written so far
	lost   int
}

// direct makes the steps of a burst: one for all views that write the same number.
func (d *director) direct(events []history.Event, views []view) {
	d.cast = cast{copies: copiesOf(views, d.Copies), views: max(d.Views, len(views)), mutex: d.Mutex}
	for i := range d.cast.views {
		d.set(viewPart(i), "", "")
	}
	d.set("counter", "", "0")
	d.step(fmt.Sprintf("%s of the program, and one counter.", capital(number(len(d.cast.copies), "copy", "copies"))), false)
	d.beat(0)
	groups, weight := slices.Collect(grouped(views)), 0
	for _, g := range groups {
		weight += weightOf(g)
	}
	b := burst{director: d}
	for _, g := range groups {
		b.count(g, min(groupTakes, burstTakes*weightOf(g)/weight))
	}
	b.compare(events)
}

// grouped yields the views that write the same number one after the other.
func grouped(views []view) func(yield func([]view) bool) {
	return func(yield func([]view) bool) {
		for len(views) > 0 {
			n := 1
			for n < len(views) && views[n].value == views[0].value {
				n++
			}
			if !yield(views[:n]) {
				return
			}
			views = views[n:]
		}
	}
}

// weightOf is how much there is to see.
func weightOf(group []view) int { return min(len(group)*2-1, 4) }

// count lets views arrive, read the same number, and write the same number.
func (b *burst) count(g []view, takes int) {
	value, before := g[0].value, b.lost
	first := len(b.values)
	b.judge(g)
	b.step(b.says(g, b.lost-before), b.lost > before)
	var arrive, answer, write []move
	for i, v := range g {
		own, delay := b.cast.colour(v.copy), 0.6*float64(i)/float64(max(4, len(g)))
		b.set(viewPart(first+i), "arrived "+own, "")
		arrive = append(arrive, move{Way: v.copy + "-views", Class: own, Delay: delay})
		m := move{Way: v.copy + "-counter", Text: fmt.Sprint("write ", value), Class: own, Delay: delay}
		if i > 0 {
			m.Class += " drops"
		}
		write = append(write, m)
	}
	b.beat(takes*3/10, arrive...)
	for _, name := range copiesOf(g, 0) {
		b.set(name, "works", fmt.Sprint("read ", value-1))
		answer = append(answer, move{Way: name + "-counter", Back: true, Text: fmt.Sprint("read ", value-1), Class: "answer"})
	}
	b.beat(takes*3/10, answer...)
	for _, name := range b.cast.copies {
		b.set(name, "", "")
	}
	for i, written := range b.values {
		class := "counted"
		if written == overwritten {
			class = "lost"
		}
		b.set(viewPart(i), class, "")
	}
	b.set("counter", "", fmt.Sprint(value))
	b.set("wrote", "", fmt.Sprintf("last write: %s wrote %d", label(g[len(g)-1].copy), value))
	b.tell(b.lost)
	b.beat(takes*4/10, write...)
}

const overwritten = -1 // in place of the value of a view that is lost

// judge counts which views are lost with a group: all but one, and those whose numbers are larger than the new one.
func (b *burst) judge(g []view) {
	value := g[0].value
	for i, written := range b.values {
		if written > value {
			b.values[i] = overwritten
		}
	}
	for i := range g {
		if i > 0 || slices.Contains(b.values, value) {
			b.values = append(b.values, overwritten)
		} else {
			b.values = append(b.values, value)
		}
	}
	b.lost = 0
	for _, written := range b.values {
		if written == overwritten {
			b.lost++
		}
	}
}

// says is what a group does.
func (b *burst) says(g []view, lost int) string {
	read, wrote := g[0].value-1, g[0].value
	shown := b.shows
	b.shows = wrote
	switch {
	case len(g) > 1:
		views := capital(number(len(g), "view", "views"))
		return fmt.Sprintf("%s read %d, and each of them writes %d%s.", views, read, wrote, b.loses(lost, "view"))
	case lost > 0:
		return fmt.Sprintf("A slow view, which had read %d, writes %d over %d%s.", read, wrote, shown, b.loses(lost, "view"))
	}
	return fmt.Sprintf("A view reads %d, and writes %d.", read, wrote)
}

// tell shows how many views are lost.
func (b *burst) tell(lost int) {
	if lost > 0 && !b.Asks {
		b.set("lost", "bad", number(lost, "view lost", "views lost"))
	}
}

// compare compares what the counter shows with the views.
func (b *burst) compare(events []history.Event) {
	at := slices.IndexFunc(events, isFinal)
	if at < 0 || len(b.values) == 0 {
		return
	}
	lost, says := len(b.values)-int(events[at].Value), ": every view is counted."
	if lost > 0 || b.Asks {
		says = fmt.Sprintf(" after %d views%s.", len(b.values), b.loses(lost, "view"))
	}
	b.tell(lost)
	b.finalStep(events[at], lost, says)
	b.steps[len(b.steps)-1].Note = "numbers recorded, order reconstructed"
}

func viewPart(i int) string { return fmt.Sprint("view-", i) }

// copiesOf are the names of the copies: those that have counted, or as many as there will be.
func copiesOf(views []view, n int) []string {
	var names []string
	for _, v := range views {
		names = append(names, v.copy)
	}
	for i := range n {
		if len(views) == 0 {
			names = append(names, fmt.Sprint("instance-", i+1))
		}
	}
	slices.SortFunc(names, numerically)
	return slices.Compact(names)
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// isLost says how many are.
func isLost(n int, one string) string {
	if n == 1 {
		return "one " + one + " is lost"
	}
	return fmt.Sprintf("%d %ss are lost", n, one)
}

// capital is a text as the beginning of a sentence.
func capital(text string) string {
	for from, to := range map[string]string{"1 ": "One ", "2 ": "Two ", "3 ": "Three "} {
		if rest, is := strings.CutPrefix(text, from); is {
			return to + rest
		}
	}
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
