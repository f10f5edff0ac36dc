package topology

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
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
	m := &memcached{Client: memcache.NewFromSelector(byName(addrs)), addrs: addrs}
	m.MaxIdleConns, m.DialContext = idleConnections, dialNamed
	if err := until(ctx, m.Ping); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// byName chooses the server of a key from the list of names, as [memcache.ServerList] does from what it has looked up once. Here each dial
// looks a name up: a server may return at another address.
type byName []string

// PickServer implements [memcache.ServerSelector].
func (b byName) PickServer(key string) (net.Addr, error) {
	if len(b) == 0 {
		return nil, memcache.ErrNoServers
	}
	return serverName(b[crc32.ChecksumIEEE([]byte(key))%uint32(len(b))]), nil
}

// Each implements [memcache.ServerSelector].
func (b byName) Each(use func(net.Addr) error) error {
	for _, server := range b {
		if err := use(serverName(server)); err != nil {
			return err
		}
	}
	return nil
}

// serverName is host:port.
type serverName string

// Network implements [net.Addr].
func (serverName) Network() string { return "tcp" }

// String implements [net.Addr].
func (s serverName) String() string { return string(s) }

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
