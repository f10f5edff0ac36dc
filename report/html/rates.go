package html

import (
	"io"

	"locklab/experiments/burst"
)

// rates are the answers to a load, second by second.
type rates struct {
	Width, Height int
	Most          int // in a second
	Seconds       int
	Bars          []rateBar
}

// rateBar is a second: its failures are above its confirmed answers, and meet them in the middle.
type rateBar struct{ X, Y, Middle, Confirmed, Failed int }

const rateHeight, rateWidth = 80, 10 // in the units of the drawing

// Rates writes a chart of the answers to a load, with room for some seconds. The newest is at the right.
func Rates(w io.Writer, seconds []burst.Second, room int) error {
	r := rates{Width: room * rateWidth, Height: rateHeight, Seconds: room}
	for _, s := range seconds {
		r.Most = max(r.Most, s.Confirmed+s.Failed)
	}
	for i, s := range seconds {
		b := rateBar{X: (room - len(seconds) + i) * rateWidth, Confirmed: s.Confirmed * rateHeight / max(1, r.Most)}
		b.Failed = (s.Confirmed+s.Failed)*rateHeight/max(1, r.Most) - b.Confirmed
		b.Middle = rateHeight - b.Confirmed
		b.Y = b.Middle - b.Failed
		r.Bars = append(r.Bars, b)
	}
	return pages.ExecuteTemplate(w, "rates", r)
}
