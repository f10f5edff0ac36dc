package lockstrategy

import (
	"context"
	"time"
)

// None grants every key to everybody immediately. Alone it is no lock (v1); behind a [Cohort] it is a mutex in the process (v2),
// which another process does not see.
type None struct{}

// Acquire grants key, unless ctx has ended.
func (None) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	request, err := NewRequest(options...)
	if err == nil && ctx.Err() != nil {
		err = ended(ctx)
	}
	if err != nil {
		return nil, notAcquired(key, err)
	}
	g := Grant{Key: key, Asked: time.Now()}
	g.Expiry, _ = request.expiry(0)
	return NewSessions().Begin(ctx, request, g)
}
