package lockstrategy_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
)

// store is a lock server in this process.
type store struct {
	mu     sync.Mutex
	locks  map[string]held
	number uint64
	defect string // empty: none
}

type held struct {
	owner   string
	expires time.Time
}

// memoryLock is a strategy over a store: the smallest that keeps the contract. A new strategy can begin as a copy.
type memoryLock struct {
	*store
	lease    time.Duration
	sessions *lockstrategy.Sessions
	sent     int
	crashed  bool
}

// Acquire asks every millisecond: this store notifies nobody.
func (m *memoryLock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	return m.sessions.Poll(ctx, key, options, time.Millisecond, func(r lockstrategy.Request) (g lockstrategy.Grant, granted bool, err error) {
		g = lockstrategy.Grant{Key: key, Asked: time.Now(), Expiry: m.lease, Renewed: r.Expiry == nil}
		if !g.Renewed {
			g.Expiry = *r.Expiry
		}
		granted, err = m.grant(&g)
		return g, granted, err
	})
}

func (m *memoryLock) grant(g *lockstrategy.Grant) (granted bool, err error) {
	return granted, m.ask(func() error {
		if h, ok := m.locks[g.Key]; ok && time.Now().Before(h.expires) {
			return nil
		}
		granted = true
		m.number++
		g.Number = m.number
		owner := strconv.FormatUint(g.Number, 10)
		m.locks[g.Key] = held{owner, time.Now().Add(g.Expiry)}
		if m.defect == "its tokens do not grow" {
			g.Number = 1
		}
		owned := func(change func()) error {
			return m.ask(func() error {
				if m.locks[g.Key].owner != owner && m.defect != "it frees another's lock" {
					return fmt.Errorf("%w: %s", lockstrategy.ErrGone, g.Key)
				}
				change()
				return nil
			})
		}
		expiry := g.Expiry
		g.Renew = func(context.Context) error {
			return owned(func() {
				if m.defect != "it renews nothing" {
					m.locks[g.Key] = held{owner, time.Now().Add(expiry)}
				}
			})
		}
		g.Release = func(context.Context) (int, error) {
			return lockstrategy.Unknown, owned(func() { delete(m.locks, g.Key) })
		}
		return nil
	})
}

// ask is a request to the store.
func (m *memoryLock) ask(request func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return fmt.Errorf("%w: it has crashed", lockstrategy.ErrUnavailable)
	}
	m.sent++
	return request()
}

// The store needs no time but that of a bubble.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	for name, cohort := range withAndWithoutCohort {
		t.Run(name, func(t *testing.T) {
			locktest.RunInBubbles(t, func(*testing.T) locktest.Backend { return memoryBackend(cohort) })
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
	for defect, promise := range map[string]string{
		"it frees another's lock": "a_lease_that_the_server_has_forgotten", "it renews nothing": "a_living_holder_keeps",
		"its tokens do not grow": "fencing_tokens_grow",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			suite := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryConforms$/^alone$", "-test.timeout=5m")
			suite.Env = append(os.Environ(), memoryDefect+"="+defect)
			found, err := suite.CombinedOutput()
			if err == nil || !bytes.Contains(found, []byte("--- FAIL: TestMemoryConforms/alone/"+promise)) {
				t.Errorf("the suite says %v: %s", err, found)
			}
		})
	}
}

func memoryBackend(cohort bool) locktest.Backend {
	s := &store{locks: make(map[string]held), defect: os.Getenv(memoryDefect)}
	return locktest.Backend{
		Fenced: true, Cohort: cohort, Yields: cohort,
		Open: func(t *testing.T, settings locktest.Settings) locktest.Client {
			m := &memoryLock{store: s, lease: settings.Lease, sessions: lockstrategy.NewSessions()}
			return locktest.Client{
				Opened: behindCohort(t, cohort, m, func() error { m.sessions.Close(); return nil }, settings.HandOff),
				Crash:  func() { s.change(func() { m.crashed = true }) },
				Sent:   func() (n int) { s.change(func() { n = m.sent }); return n },
			}
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
