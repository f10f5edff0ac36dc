// Package runner starts the servers and the workers, lets them run, and reads the servers' counters.
package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"locklab/loadtest/peers/record"
)

// nodes is how many independent servers a majority is sought among; the first is also the single one.
const nodes = 5

// Bench has the servers and does runs on them.
type Bench struct {
	RoundTrip, Emulated float64           // µs, p50 of a PING
	Missing             map[string]string // lock: why it cannot run here

	dir   string
	redis []*server
	etcd  *server
	delay *delayProxy
	jvms  []*child
	jar   string
	app   string // the lab's own program; empty: it is not needed
}

// Open starts the servers that locks need.
func Open(ctx context.Context, locks []string, delayed bool, jar string) (*Bench, error) {
	dir, err := os.MkdirTemp("", "locklab-peers-")
	if err != nil {
		return nil, err
	}
	b := &Bench{dir: dir, jar: jar, Missing: missing(locks, jar)}
	if err := b.start(ctx, locks, delayed); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bench) start(ctx context.Context, locks []string, delayed bool) error {
	count := 1
	if slices.Contains(locks, "redlock") || slices.Contains(locks, "redsync5") {
		count = nodes
	}
	for range count {
		s, err := startRedis(ctx, b.dir)
		if err != nil {
			return fmt.Errorf("redis-server: %w (apt-get install redis-server)", err)
		}
		b.redis = append(b.redis, s)
	}
	if slices.Contains(locks, "etcd") && b.Missing["etcd"] == "" {
		s, err := startEtcd(ctx, b.dir)
		if err != nil {
			return err
		}
		b.etcd = s
	}
	if slices.ContainsFunc(locks, isVersion) {
		if err := b.build(ctx); err != nil {
			return err
		}
	}
	var err error
	if b.RoundTrip, err = roundTrip(ctx, b.redis[0].addr); err != nil || !delayed {
		return err
	}
	b.delay, b.Emulated, err = openDelay(ctx, b.redis[0].addr)
	return err
}

// missing says which locks cannot run on this machine, and what would help.
func missing(locks []string, jar string) map[string]string {
	m := map[string]string{}
	for _, lock := range locks {
		switch {
		case lock == "etcd":
			if _, err := exec.LookPath("etcd"); err != nil {
				m[lock] = "apt-get install etcd-server"
			}
		case strings.HasPrefix(lock, "redisson"):
			if _, err := exec.LookPath("java"); err != nil {
				m[lock] = "apt-get install openjdk-17-jre-headless"
			} else if _, err := os.Stat(jar); err != nil {
				m[lock] = "mvn -q -f loadtest/peers/java/pom.xml package"
			}
		}
	}
	return m
}

// Close stops everything that was started.
func (b *Bench) Close() error {
	for _, c := range b.jvms {
		c.stop()
	}
	if b.delay != nil {
		b.delay.Close()
	}
	if b.etcd != nil {
		b.etcd.stop()
	}
	for _, s := range b.redis {
		s.stop()
	}
	return os.RemoveAll(b.dir)
}

// Run measures rows that go together: one lock, or all versions over HTTP. A run that was interrupted is not returned.
func (b *Bench) Run(ctx context.Context, w Workload, rows []string, rep int) ([]record.Run, error) {
	if w.Kind == HTTP {
		return b.runHTTP(ctx, w, rows, rep)
	}
	var runs []record.Run
	for _, lock := range rows {
		r, err := b.run(ctx, w, lock, rep)
		if err != nil {
			return runs, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// run does one run. What goes wrong with a lock is part of the record; an error is the bench's own.
func (b *Bench) run(ctx context.Context, w Workload, lock string, rep int) (record.Run, error) {
	r := record.Run{Workload: w.Name, Lock: lock, Rep: rep, Waiters: w.Waiters}
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
