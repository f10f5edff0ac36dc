package progress

import (
	"fmt"
	"time"
)

// state is what the line says.
type state struct {
	n, all      int
	what        string
	said        time.Time // the step began
	began, ends time.Time // of the steps that count; ends is an estimate, zero: not known
}

func (s *state) step(now time.Time, n, all int, done float64, what string) {
	if s.n, s.all, s.what, s.said = n, all, what, now; n == 0 {
		return
	}
	if s.began.IsZero() {
		s.began = now
	}
	if done > 0 {
		s.ends = now.Add(time.Duration(float64(now.Sub(s.began)) * (1 - done) / done))
	}
}

// text has the time left, or while that is not known the time so far. An estimate that has passed is not known any more.
func (s *state) text(now time.Time) string {
	from, spent := s.said, ""
	if s.n > 0 {
		from = s.began
	}
	if left := s.ends.Sub(now); s.n > 0 && left >= time.Second {
		spent = "(about " + round(left) + " left) "
	} else if so := now.Sub(from); so >= time.Second {
		spent = "(" + round(so) + " so far) "
	}
	return number(s.n, s.all) + spent + s.what
}

func number(n, all int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d ", n, all)
}

func round(d time.Duration) string {
	if d < 100*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
