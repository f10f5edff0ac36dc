package stores

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/servers"
	"locklab/versions"
)

// cacheServer is one Memcached server.
type cacheServer struct {
	*lab.Trial
	Server *servers.Memcached
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error) // of new clients; nil: as usual
}

// startCacheServer starts a Memcached server, with additional settings.
func startCacheServer(ctx context.Context, t *lab.Trial, settings ...string) *cacheServer {
	server, err := t.Stack.Memcached(ctx, settings...)
	t.Must(err)
	return &cacheServer{Trial: t, Server: server}
}

// Connect returns a client of the server with connections of its own. They are closed at the end of the trial.
func (m *cacheServer) Connect() *memcache.Client {
	c := memcache.New(m.Server.Addr)
	c.DialContext = m.Dial
	m.Cleanup(c.Close)
	return c
}

// NewClient returns a client of the lock in Memcached (v8), as in a process of its own.
func (m *cacheServer) NewClient(name string, lease time.Duration) *clients.Client {
	return clients.Open(m.Trial, name, versions.NameMemcached, versions.Backends{Memcached: m.Connect(), Expiry: lease})
}

// AwaitFree waits until the server has no item under clients.LockKey.
func (m *cacheServer) AwaitFree(ctx context.Context) error {
	conn := m.Connect()
	return servers.Until(ctx, func(context.Context) error {
		_, err := conn.Get(clients.LockKey)
		if errors.Is(err, memcache.ErrCacheMiss) {
			return nil
		}
		return errors.Join(errors.New("the server has the lock"), err)
	})
}

// addDelete is the lock by add and delete, as the matrix names it.
const addDelete = "Memcached add, delete"

// lockOf is a client of a lock in Memcached.
type lockOf func(x *cacheServer, name string) *clients.Client

func ownLock(x *cacheServer, name string) *clients.Client {
	return x.NewClient(name, clients.LongLease)
}

func addAndDelete(x *cacheServer, name string) *clients.Client {
	return addLock(x, name, 3600, 0, byDelete)
}

// addForASecond is that lock with an item of 1 s. Its owner does not look at the time.
func addForASecond(x *cacheServer, name string) *clients.Client {
	return addLock(x, name, 1, 0, byDelete)
}

// lockedWhile lets A hold the lock while something happens to the server. Then B requests it.
func lockedWhile(client lockOf, happens func(context.Context, *cacheServer), settings ...string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, s := startCacheServer(ctx, t, settings...), clients.NewSuccession(t)
		s.Come(ctx, client(x, "A"))
		happens(ctx, x)
		s.Come(ctx, client(x, "B"))
		s.Finish(ctx)
	}
}

// itemSize is about that of a lock's value: the server keeps items of other sizes elsewhere.
const itemSize = 40

// besideB lets A read under the lock that take acquires, and write if its lease is good after B's update. take reports early when the item
// may end before A's lease. Otherwise the server's clock has ticked meanwhile: then A releases, and tries again, up to eight times.
func besideB(ctx context.Context, x *cacheServer, b *clients.Client, take func() (a *clients.LocalHolder, early bool)) {
	r := clients.NewResource(x.Trial, false)
	for range 8 {
		a, early := take()
		if !early {
			a.Release(ctx)
			continue
		}
		value := r.Read(a)
		b.Update(ctx, r)
		if a.Alive() {
			r.Write(a, value+1)
		}
		_ = a.TryRelease(ctx) // its item may be gone
		return
	}
	x.Must(errors.New("the server's clock has ticked in each of eight tries: nothing is shown"))
}

// releaseItem frees a lock, and reports whether it was there.
type releaseItem func(conn *memcache.Client, key, owner string) (bool, error)

// longestWait bounds the wait for an answer: a busy machine may be late by more than memcache's half a second.
const longestWait = 20 * time.Second

// addLock is a client of a lock that is taken by add. lease is how long its holder relies on it; 0: it does not look at the time.
func addLock(x *cacheServer, name string, seconds int32, lease time.Duration, release releaseItem) *clients.Client {
	conn, owner := x.Connect(), fmt.Sprintf("%*s", itemSize, name)
	conn.Timeout = longestWait
	return clients.NewPolling(x.Trial, name, clients.Polling{
		Pause: 10 * time.Millisecond, Lease: lease,
		Try: func(_ context.Context, key string) (bool, error) {
			err := conn.Add(&memcache.Item{Key: key, Value: []byte(owner), Expiration: seconds})
			if errors.Is(err, memcache.ErrNotStored) {
				return false, nil
			}
			return err == nil, err
		},
		Release: func(_ context.Context, key string) (bool, error) {
			released, err := release(conn, key, owner)
			if errors.Is(err, memcache.ErrCacheMiss) || errors.Is(err, memcache.ErrCASConflict) {
				err = nil
			}
			return released, err
		},
	})
}

func byDelete(conn *memcache.Client, key, _ string) (bool, error) {
	err := conn.Delete(key)
	return err == nil, err
}

func byCas(conn *memcache.Client, key, owner string) (bool, error) {
	item, err := conn.Get(key)
	if err != nil || string(item.Value) != owner {
		return false, err
	}
	item.Expiration = -1
	err = conn.CompareAndSwap(item)
	return err == nil, err
}
