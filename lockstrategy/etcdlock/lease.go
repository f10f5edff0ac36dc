package etcdlock

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// serverLease is a lease in etcd's sense: its keys are deleted when it ends. It belongs to one contender at a time. So a request without an
// answer cannot be executed any more when its lease is revoked.
type serverLease struct {
	id        clientv3.LeaseID
	span      time.Duration
	confirmed atomic.Pointer[time.Time] // when the last request was sent that has certainly extended it
}

// fresh reports whether the lease is good for a new holder, which would renew it later than now.
func (l *serverLease) fresh() bool { return l != nil && time.Since(*l.confirmed.Load()) < l.span/3 }

// idleLease returns a lease that another contender has left, or nil if there is none.
func (e *Lock) idleLease(span time.Duration) *serverLease {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.spare, func(l *serverLease) bool { return l.span == span && l.fresh() })
	if i < 0 {
		return nil
	}
	l := e.spare[i]
	e.spare = slices.Delete(e.spare, i, i+1)
	return l
}

// newLease returns an idle lease, or asks for one. A private one is always new: nobody extends it.
func (e *Lock) newLease(ctx context.Context, span time.Duration, private bool) (*serverLease, error) {
	if !private {
		if l := e.idleLease(span); l != nil {
			return l, nil
		}
	}
	asked := time.Now()
	granted, err := e.client.Grant(ctx, int64((span+time.Second-1)/time.Second))
	if err != nil {
		return nil, err
	}
	l := &serverLease{id: granted.ID, span: span}
	l.confirmed.Store(&asked)
	return l, nil
}

// keep keeps leases without a key for the next contender. Old ones end by themselves.
func (e *Lock) keep(leases ...*serverLease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spare = slices.DeleteFunc(append(e.spare, leases...), func(l *serverLease) bool { return !l.fresh() })
}

// forget forgets the idle leases: the servers have none of them if they have lost their data. Otherwise they end by themselves.
func (e *Lock) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spare = nil
}

// extend asks the leader for a lease's whole time. It returns the term in which that was asked, or 0 if this leader has no such
// lease.
func (e *Lock) extend(ctx context.Context, l *serverLease) (term uint64, err error) {
	reply, err := e.client.KeepAliveOnce(ctx, l.id)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return reply.RaftTerm, nil
}

func (e *Lock) revoke(ctx context.Context, l *serverLease) error {
	if l == nil {
		return nil
	}
	ctx, cancel := e.requestContext(ctx)
	defer cancel()
	if _, err := e.client.Revoke(ctx, l.id); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return e.unavailable("revoke a lease", "", err)
	}
	return nil
}
