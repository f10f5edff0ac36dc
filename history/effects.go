package history

import "fmt"

// Counter finds what was lost of a counter that clients read and write back plus one: values that were written
// twice, and a final value below the number of confirmed writes, or below one of them. Keys are looked at apart.
func Counter(events []Event) (found []Violation) {
	for _, key := range keys(events) {
		found = append(found, counter(key, events)...)
	}
	return found
}

func counter(key string, events []Event) (found []Violation) {
	by := make(map[int64]Event)
	last := make(map[string]Event) // the newest read of an owner
	var writes []int
	var highest Event
	for _, e := range events {
		switch {
		case e.Key != key:
		case e.Kind == Read:
			last[e.Owner] = e
		case e.Kind == Write:
			writes = append(writes, e.Seq)
			if first, twice := by[e.Value]; twice {
				found = append(found, Violation{
					What:   fmt.Sprintf("%s and %s both wrote %d: one update is lost", first.Timeline, e.Timeline, e.Value),
					Events: sorted(withRead(last, first), withRead(last, e)),
				})
			}
			by[e.Value] = e
			if e.Value > highest.Value {
				highest = e
			}
		case e.Kind == Final && e.Value < int64(len(writes)):
			found = append(found, Violation{
				What:   fmt.Sprintf("%d updates were confirmed, and %s is %d: %d are lost", len(writes), key, e.Value, int64(len(writes))-e.Value),
				Events: sorted(tail(writes), []int{e.Seq}),
			})
		case e.Kind == Final && e.Value < highest.Value: // an unconfirmed write has set it back
			found = append(found, Violation{
				What:   fmt.Sprintf("%s had written %d, and %s is %d: its update is lost", highest.Timeline, highest.Value, key, e.Value),
				Events: []int{highest.Seq, e.Seq},
			})
		}
	}
	return found
}

func withRead(last map[string]Event, write Event) []int {
	if read, ok := last[write.Owner]; ok {
		return []int{read.Seq, write.Seq}
	}
	return []int{write.Seq}
}

// Late finds writes that came after a write of a later holder: a pause, or a lost lease, that nobody noticed.
func Late(events []Event) (found []Violation) {
	granted := make(map[string]Event) // by owner
	newest := make(map[string]Event)  // by key: the write whose owner was granted last
	for _, e := range events {
		switch e.Kind {
		case Grant:
			granted[e.Owner] = e
		case Write:
			mine, known := granted[e.Owner]
			if !known {
				continue
			}
			if w, ok := newest[e.Key]; ok && granted[w.Owner].Seq > mine.Seq {
				found = append(found, Violation{
					What:   fmt.Sprintf("%s wrote %d after its successor %s had written %d", e.Timeline, e.Value, w.Timeline, w.Value),
					Events: sorted([]int{mine.Seq, granted[w.Owner].Seq, w.Seq, e.Seq}),
				})
				continue
			}
			newest[e.Key] = e
		}
	}
	return found
}

// Winners finds keys that more than one client has won.
func Winners(events []Event) (found []Violation) {
	first := make(map[string]Event)
	for _, e := range events {
		if e.Kind != Win {
			continue
		}
		if w, twice := first[e.Key]; twice {
			found = append(found, Violation{
				What: fmt.Sprintf("%s and %s both won %s", w.Timeline, e.Timeline, e.Key), Events: []int{w.Seq, e.Seq},
			})
			continue
		}
		first[e.Key] = e
	}
	return found
}

// Noted finds the notes that say text: for a breach that is neither an effect nor an overlap, such as a key that stays
// locked for ever, or an error that must be reported.
func Noted(events []Event, text string) (found []Violation) {
	for _, e := range events {
		if e.Kind == Note && e.Text == text {
			found = append(found, Violation{What: e.Timeline + ": " + text, Events: []int{e.Seq}})
		}
	}
	return found
}

func keys(events []Event) (all []string) {
	seen := make(map[string]bool)
	for _, e := range events {
		if e.Kind == Write && !seen[e.Key] {
			seen[e.Key] = true
			all = append(all, e.Key)
		}
	}
	return all
}

func tail(seqs []int) []int { return seqs[max(0, len(seqs)-10):] }
