package experiments

import (
	"testing"

	"locklab/history"
)

// A value is shown in the larger unit. Microseconds have three digits, and thousands a space.
func TestAValueAsItIsShown(t *testing.T) {
	for _, c := range []struct {
		unit  Unit
		value int64
		want  string
	}{
		{Microseconds, 9994, "9.99"},
		{Microseconds, 10040, "10.0"},
		{Microseconds, 99940, "99.9"},
		{Microseconds, 100400, "100"},
		{Microseconds, -1234567, "-1\u202f235"},
		{Tenths, 105, "10.5"},
		{Thousandths, 20001, "20.001"},
		{Milliseconds, 1234567, "1\u202f234\u202f567"},
	} {
		if got := c.unit.Of("x").Text(c.value); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

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
