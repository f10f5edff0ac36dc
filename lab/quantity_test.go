package lab

import (
	"testing"

	"locklab/lab/history"
)

// A measurement is of a quantity by its name and its unit: 3 ms are no 3 µs.
func TestAMeasurementIsOfOneQuantity(t *testing.T) {
	q := Milliseconds.Of("until the next grant")
	if !q.In(q.Event("A", 3)) {
		t.Error("a quantity has not its own measurement")
	}
	for name, other := range map[string]history.Event{
		"another unit": Microseconds.Of(q.Name).Event("A", 3), "another name": Milliseconds.Of("of work").Event("A", 3),
		"no measurement": {Kind: history.Note, Name: q.Name, Unit: string(q.Unit)},
	} {
		if q.In(other) {
			t.Errorf("%s: %+v", name, other)
		}
	}
}
