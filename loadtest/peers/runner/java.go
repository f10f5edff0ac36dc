package runner

import (
	"path/filepath"

	"locklab/loadtest/peers/wire"
)

// startJava has n JVMs ready. They stay for the following runs: a cold one would measure its compiler.
func (b *Bench) startJava(n int) error {
	for len(b.jvms) < n {
		target := filepath.Dir(b.jar)
		c, err := startChild("java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", b.jar+":"+filepath.Join(target, "lib", "*"), "locklab.Worker")
		if err != nil {
			return err
		}
		b.jvms = append(b.jvms, c)
	}
	return nil
}

// stopJava ends the JVMs; the next run starts new ones.
func (b *Bench) stopJava() {
	for _, c := range b.jvms {
		c.stop()
	}
	b.jvms = nil
}

// task is what a worker is to open, and where.
func (b *Bench) task(w Workload, lock string, load wire.Load) wire.Task {
	t := wire.Task{Lock: lock, Redis: b.redis[0].addr, Load: load}
	if w.Delayed {
		t.Redis = b.delay.addr
	}
	if lock == "redlock" || lock == "redsync5" {
		for _, s := range b.redis {
			t.Nodes = append(t.Nodes, s.addr)
		}
	}
	if b.etcd != nil {
		t.Etcd = b.etcd.addr
	}
	return t
}
