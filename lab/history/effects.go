package history

import (
	"fmt"
	"slices"
)

// Counter finds the lost updates of counters that clients read and write back plus one. Each key is a counter. An update is
// lost when a value is written twice. So it is when the final value is below the number of confirmed writes, or below one.
func Counter(events []Event) (found []Violation) {
	for _, key := range counters(events) {
		found = append(found, counter(key, events)...)
	}
	return found
}

func counter(key string, events []Event) (found []Violation) {
	by := make(map[int64]Event)
	last := make(map[string]Event) // the newest read of an owner
	var writes []int
	var highest Event
	add := func(seqs []int, what string, args ...any) {
		found = append(found, Violation{Key: key, What: fmt.Sprintf(what, args...), Events: seqs})
	}
	for _, e := range events {
		switch {
		case e.Key != key:
		case e.Kind == Read:
			last[e.Owner] = e
		case e.Kind == Write:
			writes = append(writes, e.Seq)
			if first, twice := by[e.Value]; twice {
				seqs := sorted(withRead(last, first), withRead(last, e))
				wrote := fmt.Sprintf("%s and %s both wrote %d", first.Timeline, e.Timeline, e.Value)
				if first.Timeline == e.Timeline {
					wrote = fmt.Sprintf("%s wrote %d twice", e.Timeline, e.Value)
				}
				add(seqs, "%s: one update is lost", wrote)
			}
			by[e.Value] = e
			if e.Value > highest.Value {
				highest = e
			}
		case e.Kind == Final && e.Value < int64(len(writes)):
			seqs, n := sorted(tail(writes), []int{e.Seq}), int64(len(writes))
			add(seqs, "%d updates were confirmed, and %s is %d: %d are lost", n, key, e.Value, n-e.Value)
		case e.Kind == Final && e.Value < highest.Value: // an unconfirmed write has set it back
			seqs := []int{highest.Seq, e.Seq}
			add(seqs, "%s had written %d, and %s is %d: its update is lost", highest.Timeline, highest.Value, key, e.Value)
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

func tail(seqs []int) []int { return seqs[max(0, len(seqs)-10):] }

// Winners finds keys that more than one client has won.
func Winners(events []Event) (found []Violation) {
	first := make(map[string]Event)
	for _, e := range events {
		if e.Kind != Win {
			continue
		}
		if w, twice := first[e.Key]; twice {
			what := fmt.Sprintf("%s and %s both won %s", w.Timeline, e.Timeline, e.Key)
			found = append(found, Violation{Key: e.Key, What: what, Events: []int{w.Seq, e.Seq}})
			continue
		}
		first[e.Key] = e
	}
	return found
}

// Noted finds the notes and leftover locks with a mark. It is for a violation that is neither an effect nor an overlap, such
// as a key that stays locked for ever.
func Noted(events []Event, m Mark) (found []Violation) {
	for _, e := range events {
		if (e.Kind == Note || e.Kind == Left) && m.In(e) {
			found = append(found, Violation{Key: e.Key, What: e.Timeline + ": " + e.Text, Events: []int{e.Seq}})
		}
	}
	return found
}

// counters are the keys of the counters that were written, in the order of their first write.
func counters(events []Event) (keys []string) {
	for _, e := range events {
		if e.Kind == Write && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// Explained is how many events an explanation has at most.
const Explained = 12

// Explain returns the smallest slice of events that shows v, 12 or fewer: its own events, and the faults, deaths and
// losses among them. Where there is room it adds how the clients got the lock: their grants, or their requests where no
// grant was recorded. Then it adds the releases between these and the end, and the causes before.
func Explain(events []Event, v Violation) (slice []Event) {
	own := v.Events[max(0, len(v.Events)-Explained):]
	if len(own) == 0 {
		return nil
	}
	from, to := slices.Min(own), slices.Max(own)
	seqs := slices.Clone(own)
	for _, e := range events {
		ends := e.Kind == Fault || e.Kind == Die || e.Kind == Lose || e.Kind == Heal
		if ends && e.Seq > from && e.Seq < to && !slices.Contains(seqs, e.Seq) && len(seqs) < Explained {
			seqs = append(seqs, e.Seq)
		}
	}
	for _, more := range [][]int{grants(events, seqs), releases(events, seqs)} {
		if all := sorted(seqs, more); len(all) <= Explained {
			seqs = all
		}
	}
	for _, e := range slices.Backward(events) { // the cause, the latest first
		if causes(e, len(own)) && e.Seq < from && len(seqs) < Explained {
			seqs = append(seqs, e.Seq)
		}
	}
	for i, e := range slices.Backward(events) {
		// A note with a key is what a client makes of a reply, or the end of a lease.
		sent := e.Kind == Command && !EffectFollows(events[i:]) || e.Kind == Note && e.Key != ""
		if sent && e.Seq < to && !slices.Contains(seqs, e.Seq) && len(seqs) < Explained {
			seqs = append(seqs, e.Seq)
		}
	}
	for _, e := range events {
		if slices.Contains(seqs, e.Seq) {
			slice = append(slice, e)
		}
	}
	return slice
}

// EffectFollows reports whether the first of events is a command and the next its effect on the resource, which says the same.
func EffectFollows(events []Event) bool {
	return len(events) > 1 && events[0].Kind == Command && events[0].Timeline == events[1].Timeline &&
		(events[1].Kind == Read || events[1].Kind == Write)
}

// causes reports whether e may be the cause of a violation that is shown by so many events. One event alone, such as a lock
// that stays, says nothing of the clients: their last commands, deaths and refusals explain it.
func causes(e Event, shownBy int) bool {
	return e.Kind == Fault || shownBy == 1 && (e.Kind == Command || e.Kind == Die || e.Kind == Refuse)
}

// grants are those by which the owners of some events held the lock at the first of them; without a grant, their requests.
func grants(events []Event, seqs []int) (all []int) {
	newest := make(map[string]int) // by owner
	added := make(map[string]bool)
	for _, e := range events {
		switch {
		case e.Kind == Grant || e.Kind == Request:
			newest[e.Owner] = e.Seq
		case slices.Contains(seqs, e.Seq) && newest[e.Owner] > 0 && !added[e.Owner]:
			added[e.Owner] = true
			all = append(all, newest[e.Owner])
		}
	}
	return all
}

// releases are those between some events, one event each: the call, or the result where the call came before them.
func releases(events []Event, seqs []int) (all []int) {
	from, to := slices.Min(seqs), slices.Max(seqs)
	added := make(map[string]bool) // by owner
	for _, e := range events {
		if e.Seq <= from || e.Seq >= to || added[e.Owner] || e.Kind != Release && e.Kind != Released {
			continue
		}
		added[e.Owner] = true
		all = append(all, e.Seq)
	}
	return all
}
