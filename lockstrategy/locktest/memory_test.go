package locktest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/lockstrategy/session"
)

// store is a lock server in this process.
type store struct {
	mu     sync.Mutex
	locks  map[string]held
	number uint64
	defect string // empty: none
	fenced bool   // grants have tokens
}

type held struct {
	owner   string
	expires time.Time
}

// memoryLock is a strategy over a store: the smallest that keeps the contract. A new strategy can begin as a copy.
type memoryLock struct {
	*store
	lease   time.Duration
	keeper  *session.Keeper
	sent    int
	crashed bool
}

// Acquire asks every millisecond: this store notifies nobody.
func (m *memoryLock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lockstrategy.ErrNotAcquired, err)
	}
	return m.keeper.Acquire(ctx, key, request, nil, func(context.Context) (*session.Grant, time.Duration, error) {
		o := &memoryOwner{memoryLock: m, Polled: session.Polled(time.Millisecond), key: key, name: m.keeper.NewName()}
		g := &session.Grant{Key: key, Asked: time.Now(), Owner: o}
		g.Expiry, g.Renewed = request.Lease(m.lease)
		g.Renewed = g.Renewed || m.defect == "it renews a named lease"
		o.expiry = g.Expiry
		taken := false
		err := m.ask(func() {
			if h, ok := m.locks[key]; ok && (time.Now().Before(h.expires) || m.defect == "its leases do not end") {
				taken = true
				return
			}
			if m.fenced {
				m.number++
				g.Number = m.number
			}
			m.locks[key] = held{o.name, time.Now().Add(g.Expiry)}
		})
		switch {
		case err != nil:
			return nil, 0, err
		case taken:
			return nil, session.Jitter(time.Millisecond), lockstrategy.OtherHolder{}
		case m.defect == "its tokens do not grow":
			g.Number = 1
		}
		return g, 0, nil
	})
}

// memoryOwner is one call of Acquire.
type memoryOwner struct {
	*memoryLock
	session.Polled // those that wait poll
	key, name      string
	expiry         time.Duration
}

// Renew implements Owner.
func (o *memoryOwner) Renew(context.Context) error {
	return o.own(func() {
		if o.defect != "it renews nothing" {
			o.locks[o.key] = held{o.name, time.Now().Add(o.expiry)}
		}
	})
}

// Release implements Owner. As in most client libraries, nothing is sent under a context that has ended.
func (o *memoryOwner) Release(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return o.own(func() { delete(o.locks, o.key) })
}

func (o *memoryOwner) own(change func()) (err error) {
	failed := o.ask(func() {
		if o.locks[o.key].owner != o.name && o.defect != "it frees another's lock" {
			err = fmt.Errorf("%w: %s", lockstrategy.ErrGone, o.key)
			return
		}
		change()
	})
	return errors.Join(failed, err)
}

// ask is a request to the store.
func (m *memoryLock) ask(request func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return fmt.Errorf("%w: it has crashed", lockstrategy.ErrUnavailable)
	}
	m.sent++
	request()
	return nil
}

// The store needs no time but that of a bubble.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	for name, queued := range testlocks.AloneAndQueued {
		t.Run(name, func(t *testing.T) {
			locktest.RunInBubbles(t, func(*testing.T) locktest.Backend { return memoryBackend(queued, false) })
		})
		t.Run(name+" in the process", func(t *testing.T) {
			locktest.RunInBubbles(t, func(*testing.T) locktest.Backend { return memoryBackend(queued, true) })
		})
	}
}

// memoryDefect is the variable that gives the stores of a process a defect.
const memoryDefect = "LOCKLAB_TEST_DEFECT"

// A lock with one defect does not conform. TestNoLockIsCaught has a lock that excludes nobody.
func TestTheSuiteFindsADefect(t *testing.T) {
	if os.Getenv(memoryDefect) != "" {
		t.Skip("this process has a defect itself")
	}
	for _, c := range []struct{ store, defect, promise string }{
		{"alone", "it frees another's lock", "a_lease_that_the_server_has_forgotten"},
		{"alone", "it renews nothing", "a_living_holder_keeps"},
		{"alone", "its leases do not end", "a_dead_holder's_key_is_free"},
		{"alone", "its tokens do not grow", "fencing_tokens_grow"},
		{"alone_in_the_process", "it frees another's lock", "a_lease_that_the_server_has_forgotten"},
		{"alone_in_the_process", "it renews nothing", "a_living_holder_keeps"},
		{"alone_in_the_process", "it renews a named lease", "LeaseFor:_the"},
	} {
		t.Run(c.store+", "+c.defect, func(t *testing.T) {
			t.Parallel()
			suite := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryConforms$/^"+c.store+"$", "-test.timeout=5m")
			suite.Env = append(os.Environ(), memoryDefect+"="+c.defect)
			found, err := suite.CombinedOutput()
			if err == nil || !bytes.Contains(found, []byte("--- FAIL: TestMemoryConforms/"+c.store+"/"+c.promise)) {
				t.Errorf("the suite says %v: %s", err, found)
			}
		})
	}
}

func memoryBackend(queued, inProcess bool) locktest.Backend {
	s := &store{locks: make(map[string]held), defect: os.Getenv(memoryDefect), fenced: !inProcess}
	return locktest.Backend{
		InProcess: inProcess, Fenced: !inProcess, Queued: queued, Yields: queued && !inProcess,
		Open: func(t *testing.T, settings locktest.Settings) locktest.Client {
			m := &memoryLock{store: s, lease: settings.Lease, keeper: session.NewKeeper()}
			client := testlocks.Opened(t, queued, m, func() error { m.keeper.Close(); return nil }, settings.HandOff)
			client.Crash = func() { s.change(func() { m.crashed = true }) }
			client.Sent = func() (n int) { s.change(func() { n = m.sent }); return n }
			return client
		},
		Server: &locktest.Server{
			Entries: func(_ *testing.T, key string) (all []string) {
				s.change(func() {
					if h, ok := s.locks[key]; ok && time.Now().Before(h.expires) {
						all = append(all, h.owner)
					}
				})
				return all
			},
			Forget:      func(_ *testing.T, key string) { s.change(func() { delete(s.locks, key) }) },
			ForgetToken: func(*testing.T, string) {}, // it cannot lose it
		},
	}
}

func (s *store) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
