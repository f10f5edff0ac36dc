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

	"locklab/lab/report/benchfile"
	"locklab/lab/servers"
)

// nodes is how many independent servers RedLock uses; the first is also the single one.
const nodes = 5

// Bench has the servers and does runs on them.
type Bench struct {
	RoundTrip, Emulated float64           // µs, p50 of a PING
	Missing             map[string]string // lock: how to install what it needs; workload: why it cannot run here

	stack    *servers.Stack
	redis    []server
	backends map[string]*backend // those that are needed and not missing
	jvms     map[int]*child
	app      string // the lab's own program; empty: it is not needed
	delayed  string // the address of redis[0] behind the emulated round trip; empty: it is not needed
	quota    *quota // nil: no workload needs it, or it is missing
}

// Open starts the servers that the plan needs.
func Open(ctx context.Context, plan []Workload) (*Bench, error) {
	s, err := servers.New()
	if err != nil {
		return nil, err
	}
	b := &Bench{stack: s, Missing: map[string]string{}, backends: map[string]*backend{}, jvms: map[int]*child{}}
	var locks []string
	delayed, http := false, false
	for _, w := range plan {
		locks = append(append(locks, w.Locks...), w.Beside)
		delayed, http = delayed || w.Delayed, http || w.Kind == HTTP
	}
	b.findMissing(locks)
	b.enterQuota(plan)
	if err := b.start(ctx, locks, delayed, http); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bench) start(ctx context.Context, locks []string, delayed, http bool) error {
	count := 1
	if slices.ContainsFunc(locks, onNodes) {
		count = nodes
	}
	for range count {
		if err := b.startRedis(ctx); err != nil {
			return fmt.Errorf("%w (apt-get install redis-server)", err)
		}
	}
	if err := b.startBackends(ctx, locks); err != nil {
		return err
	}
	if http {
		if err := b.build(ctx); err != nil {
			return err
		}
	}
	var err error
	if b.RoundTrip, err = roundTrip(ctx, b.redis[0].Addr); err != nil || !delayed {
		return err
	}
	return b.openDelay(ctx)
}

// enterQuota must come before the first server is started.
func (b *Bench) enterQuota(plan []Workload) {
	for _, w := range plan {
		if !w.Half || b.quota != nil {
			continue
		}
		var err error
		if b.quota, err = enterQuota(); err != nil {
			b.Missing[w.Name] = "a cgroup with a quota of processor time (" + err.Error() + ")"
		}
	}
}

// findMissing finds the locks that cannot run on this machine, and what helps.
func (b *Bench) findMissing(locks []string) {
	for _, lock := range locks {
		server, needed := serverOf(lock)
		switch {
		case needed:
			if p := program(server); p.Missing() != nil {
				b.Missing[lock] = "apt-get install " + p.Debian
			}
		case onJava(lock):
			if _, err := exec.LookPath("java"); err != nil {
				b.Missing[lock] = "apt-get install openjdk-17-jre-headless"
			} else if _, err := os.Stat(jar); err != nil {
				b.Missing[lock] = "mvn -q -f loadtest/benchmark/java/pom.xml package"
			}
		}
	}
}

// Close stops everything that was started.
func (b *Bench) Close() error {
	b.stopJava()
	for _, s := range b.redis {
		_ = s.info.Close()
	}
	err := b.stack.Close()
	if b.quota != nil {
		err = errors.Join(err, b.quota.leave())
	}
	return err
}

// Run measures rows one after the other, without those for which something is missing on this machine. Over HTTP all versions are one run.
// A run that was interrupted is not returned.
func (b *Bench) Run(ctx context.Context, w Workload, rows []string, rep int, progress func(row string)) (runs []benchfile.Run, _ error) {
	if w.Kind == HTTP && len(rows) > 0 {
		progress("")
		return b.runHTTP(ctx, w, slices.Sorted(slices.Values(rows)), rep)
	}
	for _, lock := range rows {
		if !b.has(w, lock) {
			continue
		}
		progress(lock)
		r, err := b.run(ctx, w, lock, rep)
		if err != nil {
			return runs, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func (b *Bench) has(w Workload, lock string) bool {
	return b.Missing[lock]+b.Missing[w.Beside]+b.Missing[w.Name] == ""
}

// Count is how many runs Run does of these rows. Over HTTP all versions are one.
func (b *Bench) Count(w Workload, rows []string) int {
	if w.Kind == HTTP {
		return min(len(rows), 1)
	}
	runs := 0
	for _, lock := range rows {
		if b.has(w, lock) {
			runs++
		}
	}
	return runs
}

// run does one run. An error of the lock is part of the record; the error returned is the bench's own.
func (b *Bench) run(ctx context.Context, w Workload, lock string, rep int) (benchfile.Run, error) {
	r := benchfile.Run{Workload: w.Name, Lock: lock, Rep: rep, Waiters: w.Waiters}
	for _, s := range b.redis {
		if err := s.info.FlushAll(ctx).Err(); err != nil {
			return r, err
		}
	}
	t := &trial{bench: b, workload: w, lock: lock, record: &r}
	defer t.end()
	if err := t.run(ctx); err != nil {
		r.Error = err.Error()
		r.Failed = max(r.Failed, 1)
	}
	return r, ctx.Err()
}

// libraries that the page names with their versions.
var libraries = map[string]string{
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
	known := map[string]string{"Go": runtime.Version(), "Redis": strings.TrimPrefix(servers.Engine(true), "redis-server ")}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if name := libraries[m.Path]; name != "" {
				known[name] = m.Version
			}
		}
	}
	for _, s := range b.backends {
		known[s.Title] = s.Program.Version()
	}
	if jars, _ := filepath.Glob(filepath.Join(filepath.Dir(jar), "lib", "redisson-*.jar")); len(jars) > 0 {
		known["Redisson"] = match(`redisson-(.+)\.jar`, jars[0])
		known["Java"] = match(`(.+)`, output("java", "-version"))
	}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	model := match(`model name\s*: (.+)`, string(cpuinfo))
	return benchfile.Header{
		Date: time.Now().UTC().Format("2006-01-02 15:04 MST"), Form: form, Reps: reps,
		Machine:    fmt.Sprintf("%d × %s, %s %s", runtime.NumCPU(), model, runtime.GOOS, strings.TrimSpace(string(kernel))),
		Processors: runtime.NumCPU(), Versions: known, Stamp: strings.TrimSpace(output("git", "describe", "--always", "--dirty")),
		Missing: b.Missing, RoundTrip: b.RoundTrip, Emulated: b.Emulated,
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
