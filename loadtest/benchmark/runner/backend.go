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

	"locklab/lab/servers"
	"locklab/versions"
)

// counter is a kind of server, beside Redis, that keeps locks and counts requests.
type counter struct {
	name string // in the results
	// ask asks a server for its version, and returns how many requests it has had so far, without the benchmark's own.
	ask func(ctx context.Context, addr string) (version string, requests func(context.Context) (int64, error), err error)
}

var counters = map[string]counter{
	versions.NameDatabase:  {"MariaDB", askMariaDB},
	versions.NameZooKeeper: {"ZooKeeper", askZooKeeper},
	versions.NameEtcd:      {"etcd", askEtcd},
	versions.NameMemcached: {"Memcached", askMemcached},
}

// theirs are the other locks on these servers.
var theirs = map[string]string{"GET_LOCK": versions.NameDatabase, "zk.Lock": versions.NameZooKeeper, "etcd": versions.NameEtcd}

// backend is such a server that runs.
type backend struct {
	addr     string // as worker.Task has it
	pid      int
	version  string
	requests func(ctx context.Context) (int64, error)
}

// bare ends the name of a lock without its queue.
const bare = "-bare"

// answersWithin bounds how long a server's counters may take.
const answersWithin = 5 * time.Second

// serverOf is the kind of server on which a lock is kept; false: on Redis, or nowhere.
func serverOf(lock string) (server string, counts bool) {
	lock = strings.TrimSuffix(strings.TrimSuffix(lock, bare), mutex)
	server, others := theirs[lock]
	if v, ours := versions.Find(lock); ours && !others {
		server = v.Server()
	}
	_, counts = counters[server]
	return server, counts
}

// program is what a kind of server needs on this machine. The etcd that package servers builds where there is none on the PATH runs without
// fsync: it is not what the page says.
func program(server string) servers.Program {
	k, _ := servers.KindNamed(string(server))
	if server == versions.NameEtcd {
		return servers.Program{Name: "etcd", Debian: k.Program.Debian}
	}
	return k.Program
}

// startBackends starts the servers that locks need, each once, unless they are missing. They have the settings of package servers:
// ZooKeeper and etcd write each change to the disk, and MariaDB writes its log once in a second.
func (b *Bench) startBackends(ctx context.Context, locks []string) error {
	for _, lock := range locks {
		server, needed := serverOf(lock)
		if !needed || b.Missing[lock] != "" || b.backends[server] != nil {
			continue
		}
		started, err := b.stack.Start(ctx, string(server), 1, true)
		if err != nil {
			return err
		}
		s := &backend{addr: started.Addrs[0], pid: started.PIDs[0]}
		if s.version, s.requests, err = counters[server].ask(ctx, s.addr); err != nil {
			return err
		}
		b.backends[server] = s
	}
	return nil
}

func askMariaDB(ctx context.Context, addr string) (version string, requests func(context.Context) (int64, error), err error) {
	db, err := sql.Open("mysql", strings.TrimPrefix(addr, "mysql:"))
	if err != nil {
		return "", nil, err
	}
	db.SetMaxOpenConns(1)
	asked := int64(0)
	requests = func(ctx context.Context) (n int64, err error) {
		var name string
		asked++ // the statement counts itself
		err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
		return n - asked, err
	}
	err = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	return version, requests, err
}

func askZooKeeper(ctx context.Context, addr string) (version string, requests func(context.Context) (int64, error), err error) {
	const request = "srvr"
	text, err := said(ctx, addr, request)
	requests = func(ctx context.Context) (int64, error) {
		text, err := said(ctx, addr, request)
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(match(`Received: (\d+)`, text), 10, 64)
	}
	return match(`Zookeeper version: ([^-, ]+)`, text), requests, err
}

func askMemcached(ctx context.Context, addr string) (version string, requests func(context.Context) (int64, error), err error) {
	const request = "stats\r\nquit\r\n"
	text, err := said(ctx, addr, request)
	requests = func(ctx context.Context) (n int64, err error) {
		text, err := said(ctx, addr, request)
		for _, command := range []string{"cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses"} { // add and cas are in cmd_set
			count, failed := strconv.ParseInt(match(`STAT `+command+` (\d+)`, text), 10, 64)
			if failed != nil {
				failed = fmt.Errorf("memcached's stats: %s: %w", command, failed)
			}
			n, err = n+count, errors.Join(err, failed)
		}
		return n, err
	}
	return match(`STAT version (\S+)`, text), requests, err
}

func askEtcd(_ context.Context, addr string) (version string, requests func(context.Context) (int64, error), err error) {
	requests = func(ctx context.Context) (int64, error) { return etcdMessages(ctx, addr) }
	return match(`etcd Version: (.+)`, output("etcd", "--version")), requests, nil
}

// said is what a server answers before it closes the connection.
func said(ctx context.Context, addr, request string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answersWithin))
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
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
