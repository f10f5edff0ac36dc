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

// Log logs the reports: a line for servers that are set up alike, and one for each weakness.
func (m *Monitor) Log(ctx context.Context, log *slog.Logger) {
	for _, found := range m.Reports(ctx) {
		lock := slog.String("lock", found.Lock)
		for _, group := range alike(found.Servers) {
			log.LogAttrs(ctx, slog.LevelInfo, "preflight", append([]slog.Attr{lock}, attributes(group)...)...)
		}
		for _, u := range found.Unknown {
			log.LogAttrs(ctx, slog.LevelInfo, "preflight: unknown", lock, slog.String("what", u.What), slog.String("why", u.Why), where(u.Where))
		}
		for _, w := range found.Weaknesses {
			level, message := slog.LevelWarn, "preflight: weakness"
			if w.Grave {
				level, message = slog.LevelError, "preflight: no lock"
			}
			log.LogAttrs(ctx, level, message, lock, slog.String("what", w.What), slog.String("why", w.Why),
				slog.String("remedy", w.Remedy), where(w.Where))
		}
	}
}

// alike groups the servers that gave the same answers. It leaves out servers that gave none: they are among the unknown.
func alike(servers []Facts) (groups [][]Facts) {
	for _, f := range servers {
		if !f.answered() {
			continue
		}
		i := slices.IndexFunc(groups, func(g []Facts) bool { return maps.Equal(g[0].Said, f.Said) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// attributes are the answers of a group of servers, with the clock that differs most from ours.
func attributes(group []Facts) (attrs []slog.Attr) {
	for _, name := range slices.Sorted(maps.Keys(group[0].Said)) {
		attrs = append(attrs, slog.String(name, group[0].Said[name]))
	}
	far, names := group[0], []string(nil)
	for _, f := range group {
		names = append(names, f.Node)
		if f.ClockOffset.Abs() > far.ClockOffset.Abs() {
			far = f
		}
	}
	if far.RoundTrip > 0 {
		attrs = append(attrs, slog.String("clock", fmt.Sprintf("%+.1fms ±%.1fms", milliseconds(far.ClockOffset), milliseconds(far.RoundTrip/2))))
	}
	return append(attrs, where(names))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func where(servers []string) slog.Attr { return slog.String("where", strings.Join(servers, ", ")) }
