package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
)

// memcached is an open client of Memcached servers. Each key is on one of them: which one depends on the list of addresses.
type memcached struct {
	*memcache.Client // the lock sets its Timeout
	addrs            []string
}

// idleConnections is how many stay open: one for each key that is asked for simultaneously.
const idleConnections = 64

// openMemcached opens a client and waits until every server answers or ctx ends.
func openMemcached(ctx context.Context, addrs []string) (*memcached, error) {
	servers := new(memcache.ServerList)
	m := &memcached{Client: memcache.NewFromSelector(servers), addrs: addrs}
	m.MaxIdleConns, m.DialContext = idleConnections, dialNamed
	err := until(ctx, func(ctx context.Context) error {
		if err := servers.SetServers(addrs...); err != nil { // it looks the names up
			return fmt.Errorf("%s: %w", m, err)
		}
		return m.Ping(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Backend is a *memcache.Client.
func (m *memcached) Backend() any { return m.Client }

// Ping asks every server for its version. The client's Timeout bounds it for each of them.
func (m *memcached) Ping(context.Context) error {
	if err := m.Client.Ping(); err != nil {
		_ = m.Close() // idle connections have ended with their server
		return fmt.Errorf("%s: %w", m, err)
	}
	return nil
}

// String names the servers.
func (m *memcached) String() string { return "memcached " + strings.Join(m.addrs, ",") }

// dialNamed opens a connection whose errors name the server.
func dialNamed(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return namedConn{conn}, nil
}

type namedConn struct{ net.Conn }

func (c namedConn) Read(answer []byte) (int, error) {
	n, err := c.Conn.Read(answer)
	if err == io.EOF { //nolint:errorlint // a Conn returns it bare
		err = fmt.Errorf("memcached %s closed the connection: %w", c.RemoteAddr(), err)
	}
	return n, err
}
