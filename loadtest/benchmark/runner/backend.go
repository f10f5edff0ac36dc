package runner

import (
	"context"
	"strings"
	"time"

	"locklab/lab/servers"
	"locklab/versions"
)

// theirs are the other locks on these servers.
var theirs = map[string]string{"GET_LOCK": versions.NameDatabase, "zk.Lock": versions.NameZooKeeper, "etcd": versions.NameEtcd}

// backend is such a server that runs.
type backend struct {
	servers.Kind
	addr   string // as worker.Task has it
	pid    int
	asking int64 // how many requests it takes to ask for their number
	asked  int64 // requests that asked so far
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
	kind, _ := servers.KindNamed(server)
	return server, kind.Requests != nil
}

// program is what a kind of server needs on this machine. The etcd that package servers builds where there is none on the PATH runs without
// fsync: it is not what the page says.
func program(server string) servers.Program {
	k, _ := servers.KindNamed(server)
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
		started, err := b.stack.Start(ctx, server, 1, true)
		if err != nil {
			return err
		}
		s := &backend{Kind: started.Kind, addr: started.Addrs[0], pid: started.Each[0].PID()}
		if err := s.measureAsking(ctx); err != nil {
			return err
		}
		b.backends[server] = s
	}
	return nil
}

// measureAsking measures how many requests it takes to ask for the number of requests.
func (s *backend) measureAsking(ctx context.Context) error {
	first, err := s.requests(ctx)
	if err != nil {
		return err
	}
	const times = 16 // MariaDB counts the end of a connection late
	last := first
	for range times {
		if last, err = s.requests(ctx); err != nil {
			return err
		}
	}
	s.asked, s.asking = 0, (last-first+times/2)/times
	return nil
}

// requests is how many requests the server has had so far, without those that asked it.
func (s *backend) requests(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	n, err := s.Requests(ctx, s.addr)
	s.asked += s.asking
	return n - s.asked, err
}
