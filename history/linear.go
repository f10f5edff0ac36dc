package history

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long porcupine may look for an order.
const patience = 10 * time.Second

// Linear asks porcupine the same as [Overlaps] and [Counter]: whether the holds, and the updates of counters, can be
// put in an order that a lock and a counter allow. known is false when it found no answer in time.
func Linear(events []Event) (exclusive, counted, known bool) {
	lock, one := check(lockModel, lockOperations(events))
	counter, two := check(counterModel, counterOperations(events))
	return lock, counter, one && two
}

func check(model porcupine.Model, operations []porcupine.Operation) (ok, known bool) {
	switch porcupine.CheckOperationsTimeout(model, operations, patience) {
	case porcupine.Ok:
		return true, true
	case porcupine.Illegal:
		return false, true
	default:
		return false, false
	}
}

// lockStep is a grant, or the end of a hold, of key.
type lockStep struct {
	key, owner string
	end        bool
}

var lockModel = porcupine.Model{
	Partition: byKey(func(input any) string { return input.(lockStep).key }),
	Init:      func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		s, holder := input.(lockStep), state.(string)
		if s.end {
			return holder == s.owner, ""
		}
		return holder == "", s.owner
	},
}

func lockOperations(events []Event) (all []porcupine.Operation) {
	for i, h := range Holds(events) {
		all = append(all, porcupine.Operation{
			ClientId: i, Input: lockStep{h.Key, h.Owner, false}, Call: int64(h.Granted), Return: int64(h.Granted),
		})
		ends := int64(h.Ends)
		if h.Open {
			ends = math.MaxInt64
		}
		all = append(all, porcupine.Operation{ClientId: i, Input: lockStep{h.Key, h.Owner, true}, Call: ends, Return: ends})
	}
	return all
}

// update is a read and a write of a counter as one operation, from the read (or the request) to the answer; or the
// final reading.
type update struct {
	key   string
	after int64 // the next smaller value that was written, or 0: what it must have read, or a value nobody was told of
	value int64
	final bool
}

var counterModel = porcupine.Model{
	Partition: byKey(func(input any) string { return input.(update).key }),
	Init:      func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		u, n := input.(update), state.(int64)
		if u.final {
			return u.value >= n, n // more: a write that nobody was told of
		}
		return u.after == n, u.value
	},
}

// counterOperations are the updates of counters that begin at zero. Of a counter on which a value was written twice
// they are those up to the smallest such value, which are enough to show it: with hundreds of them porcupine
// would try more orders than there is time for.
func counterOperations(events []Event) (all []porcupine.Operation) {
	began := make(map[string]time.Duration) // by owner
	twice := make(map[string]int64)         // by key
	for _, key := range keys(events) {
		twice[key] = firstTwice(key, events)
	}
	before := predecessors(events)
	for i, e := range events {
		switch e.Kind {
		case Request, Read:
			began[e.Owner] = e.At
		case Write:
			from, known := began[e.Owner]
			if !known {
				from = e.At
			}
			if twice[e.Key] == 0 || e.Value <= twice[e.Key] {
				all = append(all, porcupine.Operation{ClientId: i, Input: update{e.Key, before[valueOf{e.Key, e.Value}], e.Value, false}, Call: int64(from), Return: int64(e.At)})
			}
		case Final:
			if twice[e.Key] == 0 {
				all = append(all, porcupine.Operation{ClientId: i, Input: update{key: e.Key, value: e.Value, final: true}, Call: int64(e.At), Return: int64(e.At)})
			}
		}
	}
	return all
}

type valueOf struct {
	key   string
	value int64
}

// predecessors maps each value that was written to a key to the next smaller one. With it porcupine has one order to
// try, and not all of hundreds of requests at once.
func predecessors(events []Event) map[valueOf]int64 {
	before := make(map[valueOf]int64)
	for _, key := range keys(events) {
		var values []int64
		for _, e := range events {
			if e.Kind == Write && e.Key == key {
				values = append(values, e.Value)
			}
		}
		slices.Sort(values)
		last := int64(0)
		for _, v := range slices.Compact(values) {
			before[valueOf{key, v}], last = last, v
		}
	}
	return before
}

// firstTwice is the smallest value that was written to key more than once; 0: none was.
func firstTwice(key string, events []Event) (smallest int64) {
	seen := make(map[int64]bool)
	for _, e := range events {
		if e.Kind == Write && e.Key == key {
			if seen[e.Value] && (smallest == 0 || e.Value < smallest) {
				smallest = e.Value
			}
			seen[e.Value] = true
		}
	}
	return smallest
}

func byKey(key func(input any) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		at := make(map[string]int)
		for _, o := range all {
			k := key(o.Input)
			i, known := at[k]
			if !known {
				i = len(parts)
				at[k], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], o)
		}
		return parts
	}
}

// Agree says where porcupine and our own checks do not: then one of them is wrong.
func Agree(events []Event) error { return agree(events, Overlaps, Counter) }

func agree(events []Event, overlaps, counter func([]Event) []Violation) error {
	exclusive, counted, known := Linear(events)
	overlapping, lost := len(overlaps(events)), len(counter(events))
	switch {
	case !known:
		return errors.New("porcupine found no answer in time")
	case exclusive != (overlapping == 0):
		return fmt.Errorf("porcupine says that the holds exclude each other: %v; our own check finds %d overlaps", exclusive, overlapping)
	case counted != (lost == 0):
		return fmt.Errorf("porcupine says that no update is lost: %v; our own check finds %d", counted, lost)
	}
	return nil
}
