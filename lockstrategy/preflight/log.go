package preflight

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// Log logs the reports: a line for each server that answered, each thing that is unknown, and each weakness. From then on each weakness
// that comes or goes has a line, when the servers are asked again.
func (m *Monitor) Log(ctx context.Context, log *slog.Logger) {
	for _, found := range m.Reports(ctx) {
		log := log.With("lock", found.Lock)
		for _, f := range found.Servers {
			if f.answered() {
				log.LogAttrs(ctx, slog.LevelInfo, "preflight", f.attributes()...)
			}
		}
		for _, u := range found.Unknown {
			log.Info("preflight: unknown", "what", u.What, "why", u.Why, "where", strings.Join(u.Where, ", "))
		}
		for _, w := range found.Weaknesses {
			w.log(ctx, log)
		}
	}
	m.asking.Lock()
	defer m.asking.Unlock()
	m.log = log
}

func (w Weakness) log(ctx context.Context, log *slog.Logger) {
	level, message := slog.LevelWarn, "preflight: weakness"
	if w.Grave {
		level, message = slog.LevelError, "preflight: no lock"
	}
	log.Log(ctx, level, message, "what", w.What, "why", w.Why, "remedy", w.Remedy, "where", strings.Join(w.Where, ", "))
}

// logChanges logs what the reports say now and did not say before, and the other way round.
func (m *Monitor) logChanges(ctx context.Context, before, now []Found) {
	for i, found := range now {
		log := m.log.With("lock", found.Lock)
		for _, w := range found.Weaknesses {
			if !before[i].has(w) {
				w.log(ctx, log)
			}
		}
		for _, w := range before[i].Weaknesses {
			if !found.has(w) {
				log.InfoContext(ctx, "preflight: mended", "what", w.What, "where", strings.Join(w.Where, ", "))
			}
		}
	}
}

func (f Found) has(w Weakness) bool {
	return slices.ContainsFunc(f.Weaknesses, func(other Weakness) bool { return other.What == w.What && other.Why == w.Why })
}

// attributes are the answers of a server.
func (f Facts) attributes() (attrs []slog.Attr) {
	for _, name := range slices.Sorted(maps.Keys(f.Said)) {
		attrs = append(attrs, slog.String(name, f.Said[name]))
	}
	if f.RoundTrip > 0 {
		attrs = append(attrs, slog.String("clock", fmt.Sprintf("%+.1fms ±%.1fms", milliseconds(f.ClockOffset), milliseconds(f.RoundTrip/2))))
	}
	return append(attrs, slog.String("where", f.Node))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
