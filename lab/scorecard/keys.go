package scorecard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"locklab/lab/clients"
)

// similarKeys are pairs of keys that a lock may take for one: it lowers letters, cuts a name to a length, or leaves out what a server does
// not allow.
var similarKeys = [][2]string{
	{key, strings.ToUpper(key)},
	{key + ":" + strings.Repeat("x", 200) + ":1", key + ":" + strings.Repeat("x", 200) + ":2"},
	{key + ":a-b", key + ":a_b"},
	{key + ":1:23", key + ":12:3"},
	{key, secondKey},
}

// manyNames is how many keys one process holds beside each other: of so many, two are probably one when a lock has 256 slots for all.
const manyNames = 40

// otherKeys lets B request a key while A holds a similar one, and A many keys.
func otherKeys(both bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all := b.startAll(ctx, 2)
		b.mustServe(ctx, all)
		for _, keys := range similarKeys {
			first := all[0].holdsOther(ctx, keys[0], "nothing")
			if first != nil && !both {
				release(ctx, first)
			}
			next := all[1].holdsOther(ctx, keys[1], fmt.Sprintf("%q", clients.Short([]byte(keys[0]))))
			if first != nil && both {
				release(ctx, first)
			}
			if next != nil && both {
				b.mustStay(ctx, all[0], next)
			}
			if next != nil {
				release(ctx, next)
			}
		}
		var held []*holder
		for n := range manyNames {
			name := fmt.Sprintf("%s:%08x", key, uint32(n)*2654435761) // a checksum of successive numbers differs, so they are mixed
			h := all[0].holdsOther(ctx, name, fmt.Sprintf("%d other keys", n))
			switch {
			case h == nil:
			case both:
				held = append(held, h)
			default:
				release(ctx, h)
			}
		}
		for _, h := range held {
			release(ctx, h)
		}
	}
}

// holdsOther requests a key that is free, while a copy holds other ones. A refusal is a violation. nil: it is not granted. An error,
// such as that of a key that is too long, is no violation.
func (p *process) holdsOther(ctx context.Context, key, while string) *holder {
	h, err := p.insist(ctx, key, p.Lease/4, clients.ErrRefused)
	switch {
	case errors.Is(err, clients.ErrRefused):
		p.bench.violates(p.Name, "was refused the key %q while %s was held", clients.Short([]byte(key)), while)
	case !errors.Is(err, clients.ErrAnswer):
		p.Must(err)
	}
	return h
}

// mustStay lets a copy request a key that another one holds, after the release of a similar one.
func (b *bench) mustStay(ctx context.Context, p *process, h *holder) {
	next, err := p.begin(h.Key, 0)(ctx)
	switch {
	case next != nil:
		b.mustKeep(h, next.Granted)
		b.violates(p.Name, "was granted the key %q, which %s holds, after the release of a similar one", clients.Short([]byte(h.Key)), h.Name)
		release(ctx, next)
	case !errors.Is(err, clients.ErrAnswer):
		b.Must(err)
	}
}

// busyKeys kills the holder of a key while another copy acquires and releases another key all the time. B must be granted the first one.
func busyKeys(ctx context.Context, b *bench) {
	all, _ := b.warm(ctx, 3)
	a, other, busy := all[0], all[1], all[2]
	stop := b.every(b.lease/10, func() {
		if h := busy.acquireKey(ctx, secondKey, b.lease/2); h != nil {
			release(ctx, h)
		}
	})
	a.Kill()
	b.freed(ctx, other, "its holder's end")
	stop()
}
