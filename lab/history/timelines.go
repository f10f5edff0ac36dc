package history

import (
	"fmt"
	"slices"
	"strings"
)

// Columns is how wide [Timelines] is at most.
const Columns = 120

// Relative returns events as a reader follows them: time begins with the first of them. Long fencing tokens are counted from
// 1, in their order. The real tokens are in events.
func Relative(events []Event) []Event {
	var tokens []uint64
	for _, e := range events {
		if e.Token > 0 && !slices.Contains(tokens, e.Token) {
			tokens = append(tokens, e.Token)
		}
	}
	slices.Sort(tokens)
	const long = 1_000_000 // below this a token is short enough
	if len(tokens) == 0 || tokens[len(tokens)-1] < long {
		tokens = nil
	}
	var texts []string
	for i, token := range slices.Backward(tokens) { // a longer number first: no token is a part of one before it
		texts = append(texts, fmt.Sprint(token), fmt.Sprint(i+1))
	}
	shorter := strings.NewReplacer(texts...)
	relative := slices.Clone(events)
	for i := range relative {
		e := &relative[i]
		e.At -= events[0].At
		e.Text = shorter.Replace(e.Text)
		if at, found := slices.BinarySearch(tokens, e.Token); found {
			e.Token = uint64(at + 1)
		}
	}
	return relative
}

// Timelines draws events as text, at most [Columns] wide. It has a column for each timeline, and time downwards from 0 ms. Fencing
// tokens are counted as in [Relative], and keys are named as [KeyNames] says. Of more timelines than there is room for it makes a list.
func Timelines(events []Event) string { return TimelinesOf(events, events) }

// TimelinesOf draws the events of a trial that a reader should see. All of its events say whether their keys need names.
func TimelinesOf(trial, events []Event) string {
	events, keyOf := Relative(events), KeyNames(trial)
	summary := func(e Event) string { return e.summary(keyOf(e)) }
	t := sheet{width: make(map[string]int)}
	for _, e := range events {
		if !slices.Contains(t.names, e.Timeline) {
			t.names = append(t.names, e.Timeline)
			t.width[e.Timeline] = length(e.Timeline)
		}
		t.width[e.Timeline] = max(t.width[e.Timeline], length(summary(e)))
	}
	if !t.fit() {
		return list(events, summary)
	}
	t.row("ms", func(name string) string { return name })
	for _, e := range events {
		t.row(milliseconds(e), func(name string) string {
			if name == e.Timeline {
				return summary(e)
			}
			return ""
		})
	}
	return t.String()
}

// timeWidth is that of the column of times.
const timeWidth = 9

// sheet is a text with a column for each timeline.
type sheet struct {
	strings.Builder
	names []string
	width map[string]int // of the column of each
}

const between = " │ "

// fit makes the widest columns narrower until the sheet fits. It reports false when there are too many.
func (t *sheet) fit() bool {
	const narrowest = 12
	room := Columns - timeWidth
	for _, name := range t.names {
		room -= length(between) + t.width[name]
	}
	for ; room < 0; room++ {
		widest := slices.MaxFunc(t.names, func(a, b string) int { return t.width[a] - t.width[b] })
		if t.width[widest]--; t.width[widest] < narrowest {
			return false
		}
	}
	return true
}

// row writes a cell for each timeline. A long cell has several lines.
func (t *sheet) row(at string, cell func(name string) string) {
	lines := 1
	cells := make(map[string][]string)
	for _, name := range t.names {
		cells[name] = Wrap(cell(name), t.width[name])
		lines = max(lines, len(cells[name]))
	}
	for n := range lines {
		line := fmt.Sprintf("%*s", timeWidth, at)
		for _, name := range t.names {
			text := ""
			if n < len(cells[name]) {
				text = cells[name][n]
			}
			line += between + text + strings.Repeat(" ", t.width[name]-length(text))
		}
		t.WriteString(strings.TrimRight(line, " ") + "\n")
		at = ""
	}
}

// list is events one below the other, each with its timeline.
func list(events []Event, summary func(Event) string) string {
	const margin = "   "
	var b strings.Builder
	for _, e := range events {
		for i, line := range Wrap(e.Timeline+": "+summary(e), Columns-timeWidth-len(margin)) {
			at := ""
			if i == 0 {
				at = milliseconds(e)
			}
			fmt.Fprintf(&b, "%*s%s%s\n", timeWidth, at, margin, line)
		}
	}
	return b.String()
}

func milliseconds(e Event) string { return fmt.Sprintf("%.1f", float64(e.At.Microseconds())/1000) }

func length(text string) int { return len([]rune(text)) }

// Wrap breaks text into lines of at most width, at a space where there is one.
func Wrap(text string, width int) (lines []string) {
	rest := []rune(text)
	for len(rest) > width {
		end := width
		for i := width; i > 0; i-- {
			if rest[i] == ' ' {
				end = i
				break
			}
		}
		lines = append(lines, string(rest[:end]))
		rest = []rune(strings.TrimLeft(string(rest[end:]), " "))
	}
	return append(lines, string(rest))
}
