package history

import "slices"

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
