package preflight

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// found is a report with one weakness.
func found(what string) Report {
	return Report{Lock: "v3", Taken: time.Now(), Weaknesses: []Weakness{{Where: []string{"a:1"}, What: what}}}
}

// whats are the weaknesses that the monitor reports, with their locks.
func whats(ctx context.Context, m *Monitor) string {
	var all []string
	for _, lock := range m.Reports(ctx) {
		for _, w := range lock.Weaknesses {
			all = append(all, w.What)
		}
	}
	return strings.Join(all, ", ")
}

// /readyz may be asked each second, by several clients simultaneously.
func TestServersAreAskedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, make(chan struct{})
		m := NewMonitor(slog.New(slog.DiscardHandler), func(context.Context) (Report, bool) {
			asked++ // a data race if two ask simultaneously
			<-answer
			return found(fmt.Sprint(asked)), true
		})
		want := func(times int, said string) {
			t.Helper()
			if got := whats(t.Context(), m); got != said || asked != times {
				t.Fatalf("asked %d times, it tells %q; want %d, %q", asked, got, times, said)
			}
		}
		simultaneously := func() {
			for range 3 {
				go whats(t.Context(), m)
			}
			synctest.Wait()
		}
		simultaneously()
		want(1, "")
		close(answer)
		synctest.Wait()
		want(1, "1")
		time.Sleep(every - time.Nanosecond)
		want(1, "1")
		time.Sleep(time.Nanosecond)
		answer = make(chan struct{})
		simultaneously()
		want(2, "1") // while one asks
		close(answer)
		synctest.Wait()
		want(2, "2")
	})
}

// While no lock is granted the servers are asked sooner, and the log has a line when that begins and when it ends.
func TestALockThatIsRefusedIsAskedForSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, refuses := 0, false
		var out bytes.Buffer
		m := NewMonitor(slog.New(slog.NewTextHandler(&out, nil)), func(context.Context) (Report, bool) {
			asked++
			r := found("full")
			if r.Weaknesses[0].Refuses = refuses; !refuses {
				r.Weaknesses = nil
			}
			return r, true
		})
		m.Reports(t.Context())
		refuses = true
		for _, step := range []struct {
			pause       time.Duration
			refuses     bool // after it
			asked, logs int
		}{{every, true, 2, 1}, {sooner, true, 3, 1}, {sooner - 1, false, 3, 1}, {1, false, 4, 2}, {sooner, false, 4, 2}} {
			time.Sleep(step.pause)
			m.Reports(t.Context())
			refuses = step.refuses
			if logs := strings.Count(out.String(), "what=full"); asked != step.asked || logs != step.logs {
				t.Errorf("after %s it has asked %d times and logged %d lines, want %d and %d", step.pause, asked, logs, step.asked, step.logs)
			}
		}
	})
}

func TestWhatASilentServerSaidIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := true
		lock := func(what string) Check {
			return func(context.Context) (Report, bool) {
				if !answered {
					return found("nothing"), false
				}
				return found(what), true
			}
		}
		m := NewMonitor(slog.New(slog.DiscardHandler), lock("first"), lock("second"))
		const both = "first, second"
		if got := whats(t.Context(), m); got != both {
			t.Fatalf("it tells %q", got)
		}
		at := m.Reports(t.Context())[0].Taken
		answered = false
		time.Sleep(every)
		if got := whats(t.Context(), m); got != both || !m.Reports(t.Context())[0].Taken.Equal(at) {
			t.Errorf("it tells %q of %s", got, m.Reports(t.Context())[0].Taken)
		}
	})
}

func TestAClientThatGoesAwayDoesNotSpoilThePreflight(t *testing.T) {
	m := NewMonitor(slog.New(slog.DiscardHandler), func(ctx context.Context) (Report, bool) {
		return found(fmt.Sprint("ended: ", ctx.Err() != nil)), true
	})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got := whats(gone, m); got != "" {
		t.Errorf("it tells %q", got)
	}
	if got := whats(t.Context(), m); got != "ended: false" {
		t.Errorf("it tells %q", got)
	}
}
