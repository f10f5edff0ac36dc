package lab

import (
	"math"
	"strconv"
	"strings"

	"locklab/lab/history"
)

// Unit is what a measurement is counted in.
type Unit string

// The units. A page shows microseconds as milliseconds, and tenths and thousandths as decimals.
const (
	Count        Unit = ""
	Microseconds Unit = "µs"
	Milliseconds Unit = "ms"
	Tenths       Unit = "tenths of"
	Thousandths  Unit = "thousandths of"
)

// Quantity is what is measured, and in which unit. A page or a check finds a measurement by it.
type Quantity struct {
	Name string `json:"name"` // as a page names it, behind a unit of time
	Unit Unit   `json:"unit,omitempty"`
}

// Of is a quantity in this unit.
func (u Unit) Of(name string) Quantity { return Quantity{name, u} }

// The quantities that docs/compare.md finds in runs.
var (
	NextGrant = Microseconds.Of("from the kill to the next grant")                               // after a holder's death
	NoGrant   = Milliseconds.Of("for which nobody was granted a lock after the leader had died") // by its servers
)

// Event records a value of the quantity.
func (q Quantity) Event(timeline string, value int64) history.Event {
	return history.Event{Timeline: timeline, Kind: history.Measure, Value: value, Unit: string(q.Unit), Name: q.Name}
}

// In reports whether an event is a measurement of the quantity.
func (q Quantity) In(e history.Event) bool {
	return e.Kind == history.Measure && e.Name == q.Name && e.Unit == string(q.Unit)
}

// sorted is the text by which quantities are sorted.
func (q Quantity) sorted() string {
	if q.Unit.time() {
		return string(q.Unit) + " " + q.Name
	}
	return q.Name
}

// time reports whether the unit is one of time.
func (u Unit) time() bool { return u == Microseconds || u == Milliseconds }

// Label is the quantity as people read it.
func (q Quantity) Label() string {
	if q.Unit.time() {
		return "ms " + q.Name
	}
	return q.Name
}

// Milliseconds is a value in milliseconds; false: the quantity is no time.
func (q Quantity) Milliseconds(value int64) (ms float64, is bool) {
	return float64(value) / q.Unit.per(), q.Unit.time()
}

// per is how many of the unit are one of what is shown.
func (u Unit) per() float64 {
	switch u {
	case Microseconds, Thousandths:
		return 1000
	case Tenths:
		return 10
	}
	return 1
}

// Text is a value as [Quantity.Label] calls it.
func (q Quantity) Text(value int64) string {
	shown, decimals := float64(value)/q.Unit.per(), 0
	switch {
	case q.Unit == Tenths:
		decimals = 1
	case q.Unit == Thousandths:
		decimals = 3
	case q.Unit != Microseconds: // three digits
	case math.Abs(shown) < 10:
		decimals = 2
	case math.Abs(shown) < 100:
		decimals = 1
	}
	return grouped(strconv.FormatFloat(shown, 'f', decimals, 64))
}

// grouped puts a narrow space between thousands.
func grouped(number string) string {
	whole, decimals, _ := strings.Cut(number, ".")
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "\u202f" + whole[at:]
	}
	if decimals != "" {
		whole += "." + decimals
	}
	return whole
}
