package lockmodel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"locklab/lab/history"
)

// Agree compares exclusion and [history.Counter] with porcupine, which decides the same in another way. An error says where
// they disagree: then one of them is wrong.
func Agree(events []history.Event) error { return agree(events, exclusion, history.Counter) }

func agree(events []history.Event, exclusion, counter func([]history.Event) []history.Violation) error {
	if _, err := twice(events, exclusion(events)); err != nil {
		return err
	}
	result := porcupine.CheckOperationsTimeout(counterModel, updates(events), searchTimeout)
	switch lost := len(counter(events)); {
	case result == porcupine.Unknown:
		return errors.New("porcupine found no answer about the counters in time")
	case (result == porcupine.Ok) != (lost == 0):
		return fmt.Errorf("porcupine says that no update is lost: %v; our own check finds %d", result == porcupine.Ok, lost)
	}
	return nil
}

// update is a read and a write of a counter as one operation, or the final reading. An update begins with the read or the request, and ends
// with the reply.
type update struct {
	key   string
	after int64 // the next smaller value that was written, or 0: the value that this update must have read, unless a write was not confirmed
	value int64
	final bool
}

var counterModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		at := make(map[string]int)
		for _, o := range all {
			key := o.Input.(update).key
			i, known := at[key]
			if !known {
				i = len(parts)
				at[key], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], o)
		}
		return parts
	},
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		u, n := input.(update), state.(int64)
		if u.final {
			return u.value >= n, n // more: a write that was not confirmed
		}
		return u.after == n, u.value
	},
}

// updates are those of counters that begin at zero. Of a counter on which a value was written twice they end with the
// smallest such value. They are enough to show it, and with hundreds of them porcupine would need too long.
func updates(events []history.Event) (all []porcupine.Operation) {
	began := make(map[string]time.Duration) // by owner; an update whose beginning was not recorded may have begun with the trial
	twice, before := make(map[string]int64), make(map[keyValue]int64)
	for _, key := range counters(events) {
		twice[key] = ordered(key, events, before)
	}
	add := func(u update, from, to time.Duration) {
		all = append(all, porcupine.Operation{Input: u, Call: int64(from), Return: int64(to)})
	}
	for _, e := range events {
		switch e.Kind {
		case history.Request, history.Read:
			began[e.Owner] = e.At
		case history.Write:
			if twice[e.Key] == 0 || e.Value <= twice[e.Key] {
				add(update{e.Key, before[keyValue{e.Key, e.Value}], e.Value, false}, began[e.Owner], e.At)
			}
		case history.Final:
			if twice[e.Key] == 0 {
				add(update{key: e.Key, value: e.Value, final: true}, e.At, e.At)
			}
		}
	}
	return all
}

type keyValue struct {
	key   string
	value int64
}

// ordered maps each value that was written to key to the next smaller one. So porcupine has one order to try, and not all
// orders of hundreds of simultaneous requests. It returns the smallest value that was written twice; 0: none.
func ordered(key string, events []history.Event, before map[keyValue]int64) (twice int64) {
	var values []int64
	for _, e := range events {
		if e.Kind == history.Write && e.Key == key {
			values = append(values, e.Value)
		}
	}
	slices.Sort(values)
	last := int64(0)
	for i, v := range values {
		switch {
		case i == 0 || v != values[i-1]:
			before[keyValue{key, v}], last = last, v
		case twice == 0:
			twice = v
		}
	}
	return twice
}

// counters are the keys of the counters that were written.
func counters(events []history.Event) (keys []string) {
	for _, e := range events {
		if e.Kind == history.Write && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}
