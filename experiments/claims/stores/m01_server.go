package stores

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/lockstrategy"
	"locklab/stack"
)

// cacheServer is one Memcached server.
type cacheServer struct {
	*experiments.Trial
	Server *stack.Memcached
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error) // of new clients; nil: as usual
}

// startCacheServer starts a Memcached server, with additional settings.
func startCacheServer(ctx context.Context, t *experiments.Trial, settings ...string) *cacheServer {
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
	return clients.Open(m.Trial, name, lockstrategy.NameMemcached, lockstrategy.Backends{Memcached: m.Connect(), Expiry: lease})
}

// AwaitFree waits until the server has no item under clients.LockKey.
func (m *cacheServer) AwaitFree(ctx context.Context) error {
	conn := m.Connect()
	return stack.Until(ctx, func(context.Context) error {
		_, err := conn.Get(clients.LockKey)
		if errors.Is(err, memcache.ErrCacheMiss) {
			return nil
		}
		return errors.Join(errors.New("the server has the lock"), err)
	})
}
