package scorecard

import (
	"context"
	"errors"
	"strings"

	"locklab/lab/clients"
)

// similarKeys are pairs of keys that a lock may take for one: it lowers letters, cuts a name to a length, or replaces what a server does
// not allow.
var similarKeys = [][2]string{
	{key, strings.ToUpper(key)},
	{key + ":" + strings.Repeat("x", 200) + ":1", key + ":" + strings.Repeat("x", 200) + ":2"},
	{key + ":a-b", key + ":a_b"},
	{key + ":1", key + ":2"},
}

// otherKeys lets B request a key while A holds a similar one. A key that a lock refuses with an error, such as one that is too long, is no
// violation.
func otherKeys(both bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all := b.startAll(ctx, 2)
		b.mustServe(ctx, all)
		for _, keys := range similarKeys {
			h, err := all[0].settle(ctx, keys[0])
			if errors.Is(err, clients.ErrAnswer) {
				continue
			}
			b.Must(err)
			if !both {
				release(ctx, h)
			}
			next, err := all[1].request(keys[1], b.lease/4)(ctx)
			switch {
			case err == nil:
				release(ctx, next)
			case errors.Is(err, clients.ErrRefused) && both:
				b.violates(all[1].Name, "was refused the key %q while A held %q: to the lock they are one", clients.Short([]byte(keys[1])), keys[0])
			case !errors.Is(err, clients.ErrAnswer):
				b.Must(err)
			}
			if both {
				release(ctx, h)
			}
		}
	}
}
