// Package memcachelock is a lock in Memcached, which may forget it.
package memcachelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// Lock is a lock in Memcached (A0): an item under the lock's key, with an expiry, that `add` stores only where there is none.
// Use it where two holders waste work. Do not use it where they damage data.
//
// There is one holder while the server keeps the item until it expires, and the holder stops when its lease's context ends. All
// processes must name the same servers, in the same order. There may be two holders after each of these:
//   - The server's memory is full, and it evicts the item. Locks are items like all others.
//   - The server restarts. It stores nothing on a disk, and there is no replica.
//   - The item is deleted or overwritten by hand, or by flush_all.
//   - The server's process stalls. Its clock then jumps, and an item ends early by the time of the stall.
//
// The holder learns of such a loss at its next renewal, at a third of the lease. There is no fencing token, so a resource that sees
// only writes cannot refuse a stale holder. A counter would be an item, which can be evicted. The numbers of cas begin again when the
// server restarts.
//
// The server counts whole seconds. It keeps a key for up to three seconds longer than its lease, unless the holder releases it. A caller
// that waits polls, and callers compete without a queue: package localqueue keeps that to one caller per process.
type Lock struct {
	keeper *session.Keeper
	client *memcache.Client
	timing lockstrategy.Timing
}

const pollInterval = 5 * time.Millisecond // between two tries, at most: a request costs microseconds (v8 in docs/benchmark.md, bursts)

// New returns a lock on client. Close it before client. The client's Timeout bounds its requests, because it knows no context.
// It must not be longer than [lockstrategy.Timing.Request], and is set to that where it is zero.
func New(client *memcache.Client, timing lockstrategy.Timing) (*Lock, error) {
	timing, err := timing.WithDefaults()
	switch {
	case err != nil:
		return nil, err
	case client == nil:
		return nil, errors.New("lock: memcached needs a client")
	case client.Timeout > timing.Request:
		return nil, fmt.Errorf("lock: Memcached's client waits %s for an answer, and the request timeout is %s: set its Timeout to that at most",
			client.Timeout, timing.Request)
	}
	client.Timeout = cmp.Or(client.Timeout, timing.Request)
	return &Lock{keeper: session.NewKeeper(), client: client, timing: timing}, nil
}

// Acquire tries, and tries again after a short pause while another holds key. A key is refused that Memcached cannot store.
func (m *Lock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	if err := checkItemKey(key); err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	o := &owner{lock: m, Polled: session.Polled(pollInterval), key: key, name: m.keeper.NewName()}
	o.expiry, o.renewed = request.Lease(m.timing.Expiry)
	return m.keeper.Acquire(ctx, key, request, nil, o.try)
}

// Close ends the repeated releases. Callers that wait, or ask from now on, get [lockstrategy.ErrUnavailable]. Leases that are held stay
// held, and can be released.
func (m *Lock) Close() error {
	m.keeper.Close()
	return nil
}

// Process returns the first part of the names of this lock's owners.
func (m *Lock) Process() string { return m.keeper.Process }

// checkItemKey refuses the keys that Memcached refuses.
func checkItemKey(key string) error {
	const longest = 250 // bytes
	refused := func(r rune) bool { return r <= ' ' || r == 0x7f }
	if key == "" || len(key) > longest || strings.ContainsFunc(key, refused) {
		return fmt.Errorf("a key in Memcached has 1 to %d bytes, and no spaces or control characters; this one is %q", longest, key)
	}
	return nil
}

// itemExpiry is how many seconds to ask for so that the server keeps an item for lease at least. The server counts the ticks of a clock,
// one each second. The first may come immediately. And when ticks come a little late, they add up until a second is left out.
// The server takes more than 30 days for a date: [lockstrategy.LongestLease] is shorter.
func itemExpiry(lease time.Duration) (seconds int32) {
	const lost = 2 * time.Second
	return int32((lease + lost + time.Second - 1) / time.Second)
}

// owner is one call of Acquire, and the owner of its grant. It is never used again, so a request that the server executes
// twice is harmless.
type owner struct {
	lock *Lock
	session.Polled
	key, name string
	expiry    time.Duration
	renewed   bool
}

// try asks once.
func (o *owner) try(context.Context) (*session.Grant, time.Duration, error) {
	g := session.Grant{Key: o.key, Asked: time.Now(), Expiry: o.expiry, Renewed: o.renewed, Owner: o}
	err := o.lock.client.Add(&memcache.Item{Key: o.key, Value: []byte(o.name), Expiration: itemExpiry(o.expiry)})
	switch {
	case err == nil:
		return &g, 0, nil
	case errors.Is(err, memcache.ErrNotStored):
		return nil, session.Jitter(pollInterval), lockstrategy.OtherHolder{}
	case mayHaveStored(err):
		g.Unanswered = true
		o.lock.keeper.GiveBack(g)
	}
	return nil, 0, o.lock.unavailable("acquire", err)
}

// Renew implements [session.Owner]. It begins the item's expiry anew. A renewal that comes late resurrects nothing: cas stores only where
// the item is still there.
func (o *owner) Renew(context.Context) error { return o.store("renew", itemExpiry(o.expiry)) }

// Release implements [session.Owner]. It stores an item that has expired. A delete would not compare: it could remove the item of the next
// owner.
func (o *owner) Release(context.Context) error { return o.store("release", -1) }

// store gives this owner's item a new expiry, in seconds; -1: it has expired. It begins again when the item has changed between gets
// and cas: then this owner has just renewed it, or it is another's.
func (o *owner) store(what string, seconds int32) error {
	for {
		item, err := o.lock.client.Get(o.key) // sends gets
		if err == nil && string(item.Value) != o.name {
			return fmt.Errorf("%w: another has %s", lockstrategy.ErrGone, o.key)
		}
		if err == nil {
			item.Expiration = seconds
			err = o.lock.client.CompareAndSwap(item)
		}
		switch {
		case errors.Is(err, memcache.ErrCacheMiss):
			return fmt.Errorf("%w: %s", lockstrategy.ErrGone, o.key)
		case err == nil:
			return nil
		case !errors.Is(err, memcache.ErrCASConflict):
			return o.lock.unavailable(what, err)
		}
	}
}

// unavailable says that a request got no usable answer. When a server has gone, so have the idle connections, and each
// would fail one more request after the server is back.
func (m *Lock) unavailable(what string, err error) error {
	_ = m.client.Close() // it closes idle connections, and opens new ones
	return fmt.Errorf("%w: %s in Memcached: %w", lockstrategy.ErrUnavailable, what, err)
}

// mayHaveStored reports whether a failed add may have been executed. gomemcache has no error type for the refusal of a server, so the text
// decides.
func mayHaveStored(err error) bool {
	var network *net.OpError
	var slow *memcache.ConnectTimeoutError
	notSent := errors.As(err, &network) && network.Op == "dial" || errors.As(err, &slow) || errors.Is(err, memcache.ErrNoServers)
	return !notSent && !strings.Contains(err.Error(), "unexpected response line")
}
