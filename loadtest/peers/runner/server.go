package runner

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a lock server that the runner has started.
type server struct {
	addr string
	cmd  *exec.Cmd
	info *redis.Client // nil: no Redis
}

// startRedis starts a redis-server without persistence on a free port.
func startRedis(ctx context.Context, dir string) (*server, error) {
	addr, port, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s, err := start(addr, dir, "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir,
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--maxclients", "20000")
	if err != nil {
		return nil, err
	}
	s.info = redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, PoolSize: 1})
	return s, s.await(ctx)
}

// startEtcd starts an etcd of one node, as it is installed: with fsync.
func startEtcd(ctx context.Context, dir string) (*server, error) {
	addr, _, err := freeAddr()
	if err != nil {
		return nil, err
	}
	peers, _, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s, err := start(addr, dir, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--log-level", "error",
		"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
		"--listen-peer-urls", "http://"+peers, "--initial-advertise-peer-urls", "http://"+peers,
		"--initial-cluster", "default=http://"+peers)
	if err != nil {
		return nil, err
	}
	return s, s.await(ctx)
}

func start(addr, dir string, argv ...string) (*server, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	log, err := os.Create(filepath.Join(dir, argv[0]+"-"+strconv.Itoa(os.Getpid())+addr[len(addr)-6:]+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	parentDeathSignal(cmd)
	return &server{addr: addr, cmd: cmd}, cmd.Start()
}

// await waits until something listens at the server's address.
func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		if err == nil {
			return c.Close()
		}
		if ctx.Err() != nil {
			s.stop()
			return fmt.Errorf("%s does not answer at %s: %w", s.cmd.Args[0], s.addr, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *server) stop() {
	if s.info != nil {
		_ = s.info.Close()
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func freeAddr() (addr, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	_, port, err = net.SplitHostPort(l.Addr().String())
	return l.Addr().String(), port, err
}

// usage is what a server has done so far.
type usage struct {
	commands, reads int64
	cpu             time.Duration
}

var (
	callsOf = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+)`)
	readsOf = regexp.MustCompile(`(?m)^total_reads_processed:(\d+)`)
	mine    = map[string]bool{"info": true, "flushall": true}
)

// usage asks the server's own counters. Commands inside scripts are counted, and so is the script.
func (s *server) usage(ctx context.Context) (usage, error) {
	u := usage{cpu: cpu(s.cmd.Process.Pid)}
	if s.info == nil {
		return u, nil
	}
	text, err := s.info.Info(ctx, "commandstats", "stats").Result()
	if err != nil {
		return u, err
	}
	for _, m := range callsOf.FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.ParseInt(m[2], 10, 64); !mine[m[1]] {
			u.commands += n
		}
	}
	if m := readsOf.FindStringSubmatch(text); m != nil {
		u.reads, _ = strconv.ParseInt(m[1], 10, 64)
	}
	return u, nil
}

// usage of all servers together.
func (b *Bench) usage(ctx context.Context) (usage, error) {
	var sum usage
	servers := b.redis
	if b.etcd != nil {
		servers = append(servers[:len(servers):len(servers)], b.etcd)
	}
	for _, s := range servers {
		u, err := s.usage(ctx)
		if err != nil {
			return sum, err
		}
		sum.commands, sum.reads, sum.cpu = sum.commands+u.commands, sum.reads+u.reads, sum.cpu+u.cpu
	}
	return sum, nil
}
