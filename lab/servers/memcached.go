package servers

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Memcached is one Memcached server.
type Memcached struct {
	Restartable // empty after a restart
}

// MemcachedServer is the program of Memcached.
var MemcachedServer = Program{Name: "memcached", Debian: "memcached", Homebrew: "memcached"}

func startMemcached(ctx context.Context, s *Stack, _ int, _ bool) (Servers, error) {
	m, err := s.Memcached(ctx)
	if err != nil {
		return Servers{}, err
	}
	return serversOf(m), nil
}

// Memcached starts the stack's Memcached server with additional settings ("-m", "64", …), and waits until it answers.
func (s *Stack) Memcached(ctx context.Context, settings ...string) (*Memcached, error) {
	if err := MemcachedServer.Missing(); err != nil {
		return nil, err
	}
	m := &Memcached{Restartable{Name: "memcached"}}
	m.ready, m.start = m.answers, func() (*Process, error) {
		argv := []string{"memcached", "-l", "127.0.0.1", "-p", strconv.Itoa(portOf(m.Addr)), "-U", "0"}
		if os.Geteuid() == 0 { // it refuses to run as root without this
			argv = append(argv, "-u", "root")
		}
		return s.start(command{name: "memcached", argv: append(argv, settings...)})
	}
	return m, s.startAtFreeAddr(ctx, &m.Restartable)
}

// answers returns nil when the server answers with its process id. Another server may have taken the port, and answers as well.
func (m *Memcached) answers(ctx context.Context) (says string, err error) {
	stats, err := m.Stats(ctx)
	if err == nil && stats["pid"] != strconv.Itoa(m.PID()) {
		err = fmt.Errorf("another server answers at %s", m.Addr)
	}
	return " with " + stats["curr_items"] + " items", err
}

// Stats returns what the server says of itself: "pid", "curr_items", "evictions", …
func (m *Memcached) Stats(ctx context.Context) (map[string]string, error) {
	stats := make(map[string]string)
	err := m.ask(ctx, func(server *bufio.ReadWriter) error {
		_, _ = server.WriteString("stats\r\n")
		for {
			line, err := reply(server)
			if err != nil || line == "END" {
				return err
			}
			name, value, _ := strings.Cut(strings.TrimPrefix(line, "STAT "), " ")
			stats[name] = value
		}
	})
	return stats, err
}

// Fill writes items without an expiry and with values of size bytes, until enough returns true or the server refuses one. The server
// evicts items of a similar size only: each of its classes of sizes has memory of its own.
func (m *Memcached) Fill(ctx context.Context, size int, enough func(context.Context) (bool, error)) (full Full, err error) {
	value, written := strings.Repeat("x", size), 0
	for done := false; !done && err == nil && full.Refused == nil; {
		err = m.ask(ctx, func(server *bufio.ReadWriter) error {
			const batch = 500 // their replies fit into the buffers of a connection
			for range batch {
				written++
				fmt.Fprintf(server, "set filler:%d 0 0 %d\r\n%s\r\n", written, size, value)
			}
			for range batch {
				line, err := reply(server)
				if err != nil {
					return err
				}
				if line != "STORED" {
					full.Refused = cmp.Or(full.Refused, errors.New(line))
				}
			}
			return nil
		})
		if err == nil {
			done, err = enough(ctx)
		}
	}
	stats, failed := m.Stats(ctx)
	full.Evicted, _ = strconv.ParseInt(stats["evictions"], 10, 64)
	return full, errors.Join(err, failed)
}

// ask opens a connection for some requests. Memcached answers in microseconds: one that takes longer than a few seconds hangs.
func (m *Memcached) ask(ctx context.Context, requests func(server *bufio.ReadWriter) error) error {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", m.Addr)
	if err != nil {
		return err
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	return requests(bufio.NewReadWriter(bufio.NewReader(connection), bufio.NewWriter(connection)))
}

// reply sends what was written, and returns the next line of the answer.
func reply(server *bufio.ReadWriter) (string, error) {
	if err := server.Flush(); err != nil {
		return "", err
	}
	line, err := server.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// commandsOfMemcached asks the server at an address. Its cmd_set has add and cas, too.
func commandsOfMemcached(ctx context.Context, addr string) (n int64, err error) {
	stats, err := (&Memcached{Restartable{Addr: addr}}).Stats(ctx)
	for _, command := range []string{"cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses"} {
		count, failed := strconv.ParseInt(stats[command], 10, 64)
		if failed != nil {
			failed = fmt.Errorf("memcached's stats: %s: %w", command, failed)
		}
		n, err = n+count, errors.Join(err, failed)
	}
	return n, err
}
