package runner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver

	"locklab/stack"
)

// kind is a kind of server, beside Redis, that keeps locks.
type kind struct {
	name    string
	locks   []string // that are kept there; -bare is the same server
	program stack.Program
	start   func(ctx context.Context, s *stack.Stack) (*backend, error)
}

// backend is such a server that runs.
type backend struct {
	addr     string // as worker.Task has it
	pid      int
	version  string
	requests func(ctx context.Context) (int64, error) // that it has had so far, without the benchmark's own
}

// bare ends the name of a lock without its cohort.
const bare = "-bare"

// answersWithin bounds how long a server's counters may take.
const answersWithin = 5 * time.Second

var kinds = []kind{
	{"MariaDB", []string{"v5", "GET_LOCK"}, stack.MariaDBServer, startMariaDB},
	{"ZooKeeper", []string{"v6", "zk.Lock"}, stack.ZooKeeperServer, startZooKeeper},
	// The etcd that package stack builds where there is none on the PATH runs without fsync: it is not what the page says.
	{"etcd", []string{"v7", "etcd"}, stack.Program{Name: "etcd", Debian: stack.EtcdServer.Debian}, startEtcd},
	{"Memcached", []string{"v8"}, stack.MemcachedServer, startMemcached},
}

// kindOf is the kind of server on which a lock is kept; false: on Redis, or nowhere.
func kindOf(lock string) (kind, bool) {
	for _, k := range kinds {
		for _, l := range k.locks {
			if l == strings.TrimSuffix(lock, bare) {
				return k, true
			}
		}
	}
	return kind{}, false
}

// startBackends starts the servers that locks need, each once, unless they are missing.
func (b *Bench) startBackends(ctx context.Context, locks []string) error {
	for _, lock := range locks {
		k, needed := kindOf(lock)
		if !needed || b.Missing[lock] != "" || b.backends[k.name] != nil {
			continue
		}
		started, err := k.start(ctx, b.stack)
		if err != nil {
			return err
		}
		b.backends[k.name] = started
	}
	return nil
}

// startMariaDB starts MariaDB as package stack does: it writes its log to the disk each second, and not at each commit.
func startMariaDB(ctx context.Context, s *stack.Stack) (*backend, error) {
	d, err := s.MariaDB(ctx)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("mysql", d.DSN)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	b, asked := &backend{addr: d.DSN, pid: d.PID()}, int64(0)
	b.requests = func(ctx context.Context) (n int64, err error) {
		var name string
		asked++ // the statement counts itself
		err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
		return n - asked, err
	}
	return b, db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&b.version)
}

// startZooKeeper starts one server, with its default: with fsync.
func startZooKeeper(ctx context.Context, s *stack.Stack) (*backend, error) {
	nodes, err := s.ZooKeeper(ctx, 1)
	if err != nil {
		return nil, err
	}
	b := &backend{addr: nodes[0].Addr, pid: nodes[0].PID()}
	text, err := srvr(ctx, b.addr)
	b.version = match(`Zookeeper version: ([^-, ]+)`, text)
	b.requests = func(ctx context.Context) (int64, error) {
		text, err := srvr(ctx, b.addr)
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(match(`Received: (\d+)`, text), 10, 64)
	}
	return b, err
}

// srvr is what the server says of itself.
func srvr(ctx context.Context, addr string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answersWithin))
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

// startEtcd starts an etcd of one node, with its default: with fsync.
func startEtcd(ctx context.Context, s *stack.Stack) (*backend, error) {
	e, err := s.Etcd(ctx, 1)
	if err != nil {
		return nil, err
	}
	version := match(`etcd Version: (.+)`, output("etcd", "--version"))
	b := &backend{addr: e.Addrs()[0], pid: e.Members[0].PID(), version: version}
	b.requests = func(ctx context.Context) (int64, error) { return etcdMessages(ctx, b.addr) }
	return b, nil
}

var messages = regexp.MustCompile(`(?m)^grpc_server_msg_received_total\{.*\} (\S+)$`)

// etcdMessages sums up the messages that an etcd server has received from clients: requests, and messages on streams that stay.
func etcdMessages(ctx context.Context, addr string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	sum := 0.0
	for _, m := range messages.FindAllSubmatch(text, -1) {
		n, failed := strconv.ParseFloat(string(m[1]), 64)
		sum, err = sum+n, errors.Join(err, failed)
	}
	return int64(sum), err
}

func startMemcached(ctx context.Context, s *stack.Stack) (*backend, error) {
	m, err := s.Memcached(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := m.Stats(ctx)
	b := &backend{addr: m.Addr, pid: m.PID(), version: stats["version"]}
	b.requests = func(ctx context.Context) (n int64, err error) {
		stats, err := m.Stats(ctx)
		for _, command := range []string{"cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses"} { // add and cas are in cmd_set
			count, failed := strconv.ParseInt(stats[command], 10, 64)
			if failed != nil {
				failed = fmt.Errorf("memcached's stats: %s: %w", command, failed)
			}
			n, err = n+count, errors.Join(err, failed)
		}
		return n, err
	}
	return b, err
}
