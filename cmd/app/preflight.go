package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/handlers"
	"locklab/lockstrategy/preflight"
)

// preflightEvery is how old a preflight may be that /readyz tells.
const preflightEvery = time.Minute

// lockPreflight knows what weakens the locks of this instance: from its start, and asked again for /readyz.
type lockPreflight struct {
	locks []preflightLock

	asking sync.Mutex // held while servers are asked; guards what follows
	asked  time.Time  // zero: not yet

	last atomic.Pointer[[]preflight.Report] // as locks; nil: none yet
}

// preflightLock asks the servers of one version's lock.
type preflightLock struct {
	version string
	ask     func(context.Context) (preflight.Report, error)
}

// newPreflight is that of v3, and of v4 where there is one.
func newPreflight(p *parts) *lockPreflight {
	locks := []preflightLock{{"v3", func(ctx context.Context) (preflight.Report, error) {
		return preflight.Redis(ctx, p.redis.Master, 0)
	}}}
	if p.nodes != nil {
		locks = append(locks, preflightLock{"v4", func(ctx context.Context) (preflight.Report, error) {
			return preflight.RedLock(ctx, p.nodes.Nodes, 0)
		}})
	}
	return &lockPreflight{locks: locks}
}

// current asks again when the last time is long ago. Whoever comes while another asks gets the last
// answer, and so does everybody for a minute when a server was silent: /readyz has its own word for that.
func (p *lockPreflight) current(ctx context.Context) []preflight.Report {
	if p.asking.TryLock() {
		if p.asked.IsZero() || time.Since(p.asked) >= preflightEvery {
			p.ask(ctx)
		}
		p.asking.Unlock()
	}
	if last := p.last.Load(); last != nil {
		return *last
	}
	return nil // another asks for the first time
}

// ask asks the servers of all locks at the same time. Servers that are silent do not make us forget
// what they said before, and a client that went away before they answered does not count.
func (p *lockPreflight) ask(ctx context.Context) {
	reports := make([]preflight.Report, len(p.locks))
	before := p.last.Load()
	var all sync.WaitGroup
	for i, lock := range p.locks {
		all.Go(func() {
			var err error
			if reports[i], err = lock.ask(ctx); err != nil && before != nil {
				reports[i] = (*before)[i]
			}
		})
	}
	all.Wait()
	if ctx.Err() == context.Canceled {
		return
	}
	p.asked = time.Now()
	p.last.Store(&reports)
}

// log says at the start what was found: a line for servers that are set up alike, and one for each
// weakness.
func (p *lockPreflight) log(ctx context.Context, log *slog.Logger) {
	for i, report := range p.current(ctx) {
		lock := slog.String("lock", p.locks[i].version)
		for _, alike := range alikes(report.Servers) {
			log.LogAttrs(ctx, slog.LevelInfo, "preflight", append([]slog.Attr{lock}, said(alike)...)...)
		}
		for _, u := range report.Unknown {
			log.LogAttrs(ctx, slog.LevelInfo, "preflight: unknown", lock, slog.String("what", u.What), slog.String("why", u.Why), where(u.Where))
		}
		for _, w := range report.Weaknesses {
			level, message := slog.LevelWarn, "preflight: weakness"
			if w.Grave {
				level, message = slog.LevelError, "preflight: no lock"
			}
			log.LogAttrs(ctx, level, message, lock, slog.String("what", w.What), slog.String("why", w.Why), slog.String("remedy", w.Remedy), where(w.Where))
		}
	}
}

// alikes puts servers together that said the same.
func alikes(servers []preflight.Facts) [][]preflight.Facts {
	var all [][]preflight.Facts
	for _, f := range servers {
		if f.Said == nil { // silent, which stands among the unknown
			continue
		}
		i := slices.IndexFunc(all, func(a []preflight.Facts) bool { return maps.Equal(a[0].Said, f.Said) })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], f)
	}
	return all
}

// said is what servers said that are alike, with the clock that is furthest from ours.
func said(alike []preflight.Facts) []slog.Attr {
	var attrs []slog.Attr
	for _, name := range slices.Sorted(maps.Keys(alike[0].Said)) {
		attrs = append(attrs, slog.String(name, alike[0].Said[name]))
	}
	far, names := alike[0], []string(nil)
	for _, f := range alike {
		names = append(names, f.Node)
		if f.ClockOffset.Abs() > far.ClockOffset.Abs() {
			far = f
		}
	}
	if far.RoundTrip > 0 {
		attrs = append(attrs, slog.String("clock", fmt.Sprintf("%+.1fms ±%.1fms", inMilliseconds(far.ClockOffset), inMilliseconds(far.RoundTrip/2))))
	}
	return append(attrs, where(names))
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func where(servers []string) slog.Attr { return slog.String("where", strings.Join(servers, ", ")) }

// ready is what /readyz tells.
func (p *lockPreflight) ready(ctx context.Context) []handlers.Preflight {
	told := []handlers.Preflight{} // an empty list, not null
	for i, report := range p.current(ctx) {
		one := handlers.Preflight{Lock: p.locks[i].version, At: report.Taken, Weaknesses: []handlers.Weakness{}, Unknown: []handlers.Unknown{}}
		for _, w := range report.Weaknesses {
			one.Weaknesses = append(one.Weaknesses, handlers.Weakness(w))
		}
		for _, u := range report.Unknown {
			one.Unknown = append(one.Unknown, handlers.Unknown(u))
		}
		told = append(told, one)
	}
	return told
}
