package topology

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a server of Redis, and how to reach it.
type server struct {
	addr string // host:port
	Access
}

// HostPorts returns the addresses of Redis servers as host:port, without what URLs add to them. Its error says which one cannot work, and
// has no part of a password. Without a Kind the servers are independent of each other, as RedLock's nodes are.
func (c Config) HostPorts() ([]string, error) {
	servers, err := c.servers()
	return hostPorts(servers), err
}

func hostPorts(servers []server) (addrs []string) {
	for _, s := range servers {
		addrs = append(addrs, s.addr)
	}
	return addrs
}

// servers reads Addrs. A URL adds to Access, or replaces a part of it. The servers of a topology are all reached in the same way, because
// clients learn of further ones from them.
func (c Config) servers() (all []server, err error) {
	base := c.Access
	if c.Kind == Sentinel {
		base.User, base.Password = "", ""
	}
	for i, text := range c.Addrs {
		s, err := base.server(text)
		if err == nil && s.database != 0 && (c.Kind == Sentinel || c.Kind == Cluster) {
			err = fmt.Errorf("has /%d, but with a %s there is only database 0", s.database, c.Kind)
		}
		if err == nil && i > 0 && c.Kind != "" {
			err = s.differs(all[0])
		}
		if err != nil {
			return nil, fmt.Errorf("address %d of %d %w", i+1, len(c.Addrs), err)
		}
		all = append(all, s)
	}
	if c.Kind == Sentinel {
		for i, s := range all {
			all[i].sentinelUser, all[i].sentinelPassword = s.User, s.Password
			all[i].User, all[i].Password = c.User, c.Password
		}
	}
	return all, nil
}

// server reads HOST:PORT, or a URL as [redis.ParseURL] does.
func (a Access) server(text string) (server, error) {
	if !strings.Contains(text, "://") && !strings.Contains(text, "@") {
		return server{text, a}, nil
	}
	o, err := parseURL(text)
	switch {
	case err != nil:
		return server{}, err
	case o.Username != "" && o.Password == "":
		return server{}, errors.New("has a user and no password; must be redis://USER:PASSWORD@HOST:PORT")
	case o.Password != "":
		a.User, a.Password = o.Username, o.Password
	}
	a.database, a.tls = o.DB, o.TLSConfig
	return server{o.Addr, a}, nil
}

// parseURL is [redis.ParseURL] without the settings of a connection pool. Its error has no part of the URL: what seems to be another part
// may belong to the password.
func parseURL(text string) (*redis.Options, error) {
	o, err := redis.ParseURL(text)
	_, settings, _ := strings.Cut(text, "?")
	asks := settings != "" && settings != "skip_verify=true" || strings.Contains(text, "#")
	if err != nil || !isHost(o.Addr) || o.Network != "tcp" || o.DB < 0 || asks {
		return nil, errors.New("is no HOST:PORT and no URL of Redis; must be redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss:// for TLS, " +
			"with no other setting than ?skip_verify=true; in the password write all but letters, digits and -._~ as %XX")
	}
	return o, nil
}

// isHost reports whether the host of an address has no colon, or is an IPv6 address. A colon is in redis://:PASSWORD:PORT, without a host.
func isHost(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, _, _ := strings.Cut(host, "%")
	return err == nil && (!strings.Contains(host, ":") || net.ParseIP(ip) != nil)
}

// differs returns an error when one client cannot reach both servers.
func (s server) differs(first server) error {
	in := func(what string) error {
		return fmt.Errorf("differs from the first in its %s; all servers of a topology must have the same", what)
	}
	switch {
	case s.User != first.User || s.Password != first.Password:
		return in("user or password")
	case s.database != first.database:
		return in("database")
	case (s.tls == nil) != (first.tls == nil):
		return in("TLS (rediss://)")
	case s.tls != nil && s.tls.InsecureSkipVerify != first.tls.InsecureSkipVerify:
		return in("skip_verify")
	}
	return nil
}

// mistake returns, in brackets, a mistake that an error looks like, or "".
func (c Config) mistake(err error) string {
	asking := strings.Contains(err.Error(), "all sentinels")
	switch {
	case c.Kind != Sentinel:
	case asking && strings.Contains(err.Error(), "unreachable: "+redis.Nil.Error()):
		return fmt.Sprintf(" (the sentinels know no master called %q: set --sentinel-master)", c.SentinelMaster)
	case asking && strings.Contains(err.Error(), "unknown command"):
		return " (the servers are no sentinels: choose another --topology)"
	case !asking && refused(err):
		return " (that of the master: set --redis-password)"
	}
	return c.Access.mistake(err)
}

// mistake returns, in brackets, a mistake about TLS that an error looks like, or "".
func (a Access) mistake(err error) string {
	switch {
	case a.tls == nil && (errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), ": EOF")): // the client of a cluster hides it
		return " (a server that wants TLS ends the connection: its URL is rediss://)"
	case a.tls != nil && errors.Is(err, context.DeadlineExceeded):
		return " (a server without TLS gives no answer to rediss://)"
	case a.tls != nil && replyLost(err):
		return " (a server that wants a certificate of the client ends the connection: give it tls-auth-clients no)"
	}
	return ""
}

// encrypt begins TLS on a connection to a server. The certificate must be for the host of addr, which is the address before an [AddrMap].
// For an IP address that a sentinel or a cluster announces, it must be for the host of the first URL, as always with go-redis. Each error
// says that nothing was sent.
func encrypt(ctx context.Context, conn net.Conn, settings *tls.Config, addr string) (net.Conn, error) {
	settings = settings.Clone()
	if host, _, _ := net.SplitHostPort(addr); net.ParseIP(host) == nil || net.ParseIP(settings.ServerName) != nil {
		settings.ServerName = host
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	encrypted := tls.Client(conn, settings)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: conn.RemoteAddr(), Err: err}
	}
	return tlsConn{encrypted}, nil
}

// tlsConn is a connection that go-redis checks before it uses it again, as it does without TLS: it sends nothing to a server that has
// closed the connection. It does not check a *tls.Conn, because to read what has arrived might take for ever.
type tlsConn struct{ *tls.Conn }

// SyscallConn returns the socket for that check, and bounds the reading. Each command sets a deadline of its own.
func (c tlsConn) SyscallConn() (syscall.RawConn, error) {
	_ = c.SetReadDeadline(time.Now().Add(replyTimeout))
	return socketOf(c.NetConn())
}
