// Package runner starts the servers and the workers, lets them run, and reads the servers' counters.
package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/report/benchfile"
	"locklab/lab/servers"
	"locklab/loadtest/benchmark/worker"
	"locklab/versions"
)

// Bench has the servers and does runs on them.
type Bench struct {
	Missing map[string]string // lock: how to install what it needs

	stack    *servers.Stack
	redis    []server // five: RedLock uses all, every other lock the first
	backends map[string]servers.Servers
	jvms     map[int]*child // they stay, because a cold one would measure its compiler
}

// Open starts the servers that the plan needs.
func Open(ctx context.Context, plan []Workload) (*Bench, error) {
	s, err := servers.New()
	if err != nil {
		return nil, err
	}
	b := &Bench{stack: s, Missing: map[string]string{}, backends: map[string]servers.Servers{}, jvms: map[int]*child{}}
	if err := b.start(ctx, plan); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bench) start(ctx context.Context, plan []Workload) error {
	nodes, err := b.stack.RedLock(ctx, servers.RedLockNodes, true)
	if err != nil {
		return fmt.Errorf("%w (apt-get install redis-server)", err)
	}
	for _, n := range nodes {
		b.redis = append(b.redis, server{n, redis.NewClient(&redis.Options{Addr: n.Addr, DisableIdentity: true, PoolSize: 1})})
	}
	for _, w := range plan {
		for _, lock := range append(slices.Clone(w.Locks), w.Beside) {
			if err := b.startServerOf(ctx, lock); err != nil {
				return err
			}
		}
	}
	return nil
}

// startServerOf starts the server that keeps a lock, once, or notes what is missing. Servers have the settings of package servers:
// ZooKeeper and etcd write each change to the disk, and MariaDB writes its log once in a second.
func (b *Bench) startServerOf(ctx context.Context, lock string) error {
	if onJava(lock) {
		if _, err := exec.LookPath("java"); err != nil {
			b.Missing[lock] = "apt-get install openjdk-17-jre-headless"
		} else if _, err := os.Stat(jar); err != nil {
			b.Missing[lock] = "mvn -q -f loadtest/benchmark/java/pom.xml package"
		}
		return nil
	}
	kind, needed := serverOf(lock)
	if _, started := b.backends[kind.Name]; !needed || started {
		return nil
	}
	program := kind.Program
	if kind.Name == versions.NameEtcd { // the etcd that package servers builds where there is none on the PATH runs without fsync
		program = servers.Program{Name: "etcd", Debian: program.Debian}
	}
	if program.Missing() != nil {
		b.Missing[lock] = "apt-get install " + program.Debian
		return nil
	}
	started, err := b.stack.Start(ctx, kind.Name, 1, true)
	b.backends[kind.Name] = started
	return err
}

// theirs are the libraries on other servers than Redis.
var theirs = map[string]string{"GET_LOCK": versions.NameDatabase, "zk.Lock": versions.NameZooKeeper, "etcd": versions.NameEtcd}

// serverOf is the kind of server that keeps a lock; false: Redis, or none.
func serverOf(lock string) (kind servers.Kind, other bool) {
	lock = strings.TrimSuffix(strings.TrimSuffix(lock, worker.Bare), worker.Mutex)
	name, library := theirs[lock]
	if v, ours := versions.Find(lock); ours && !library {
		name = v.Server()
	}
	kind, _ = servers.KindNamed(name)
	return kind, kind.Requests != nil
}

// Close stops everything that was started.
func (b *Bench) Close() error {
	b.stopJava()
	for _, s := range b.redis {
		_ = s.info.Close()
	}
	return b.stack.Close()
}

// Has reports whether a row can run on this machine.
func (b *Bench) Has(w Workload, lock string) bool { return b.Missing[lock]+b.Missing[w.Beside] == "" }

// Run measures a row once. An error of the lock is part of the record; the error returned is the bench's own.
func (b *Bench) Run(ctx context.Context, w Workload, lock string, rep int) (benchfile.Run, error) {
	r := benchfile.Run{Workload: w.Name, Lock: lock, Rep: rep}
	for _, s := range b.redis {
		if err := s.info.FlushAll(ctx).Err(); err != nil {
			return r, err
		}
	}
	t := &trial{bench: b, workload: w, lock: lock, record: &r}
	defer t.stop()
	if err := t.run(ctx); err != nil {
		r.Error = err.Error()
		r.Failed = max(r.Failed, 1)
	}
	return r, ctx.Err()
}

// clients that the page names with their versions.
var clients = map[string]string{
	"github.com/redis/go-redis/v9":     "go-redis",
	"github.com/go-redsync/redsync/v4": "redsync",
	"github.com/bsm/redislock":         "redislock",
	"github.com/redis/rueidis":         "rueidis",
	"go.etcd.io/etcd/client/v3":        "etcd client",
	"github.com/go-zookeeper/zk":       "go-zookeeper",
	"github.com/go-sql-driver/mysql":   "go-sql-driver",
	"github.com/bradfitz/gomemcache":   "gomemcache",
}

// Describe says where and with what b measures.
func (b *Bench) Describe(form string, reps int) benchfile.Header {
	known := map[string]string{"Go": runtime.Version(), "Redis": servers.RedisServer.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if name := clients[m.Path]; name != "" {
				known[name] = m.Version
			}
		}
	}
	for _, s := range b.backends {
		known[s.Kind.Title] = s.Kind.Program.Version()
	}
	if jars, _ := filepath.Glob(filepath.Join(filepath.Dir(jar), "lib", "redisson-*.jar")); len(jars) > 0 {
		known["Redisson"] = match(`redisson-(.+)\.jar`, jars[0])
		known["Java"] = match(`"(.+)"`, output("java", "-version"))
	}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	model := match(`model name\s*: (.+)`, string(cpuinfo))
	return benchfile.Header{
		Date: time.Now().UTC().Format("2006-01-02 15:04 MST"), Form: form, Reps: reps,
		Machine:  fmt.Sprintf("%d × %s, %s %s", runtime.NumCPU(), model, runtime.GOOS, strings.TrimSpace(string(kernel))),
		Versions: known, Stamp: strings.TrimSpace(output("git", "describe", "--always", "--dirty")), Missing: b.Missing,
	}
}

func output(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput()
	return string(out)
}

// match is the first group of pattern in text; "" when it does not match.
func match(pattern, text string) string {
	if found := regexp.MustCompile(pattern).FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
