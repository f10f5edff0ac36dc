package versions_test

import (
	"testing"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/versions"
)

// BenchmarkUncontended is one acquire and one release when nobody else wants the lock.
func BenchmarkUncontended(b *testing.B) {
	benchmark(b, func(b *testing.B, turn func() error) {
		for b.Loop() {
			if err := turn(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkContended is the same with many goroutines of one process, each waiting for its turn.
func BenchmarkContended(b *testing.B) {
	benchmark(b, func(b *testing.B, turn func() error) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := turn(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

func benchmark(b *testing.B, run func(b *testing.B, turn func() error)) {
	real := testenv.RedisServer.Met()
	node := testenv.Redis(b, real)
	nodes, err := testenv.Stack(b).RedLock(testenv.Context(b), 5, real)
	if err != nil {
		b.Fatal(err)
	}
	backends := versions.Backends{Redis: testlocks.Client(b, node.Addr), Nodes: testlocks.Clients(b, nodes)}
	for _, name := range []string{versions.NameNone, versions.NameProcess, versions.NameRedis, versions.NameRedLock} {
		b.Run(name, func(b *testing.B) {
			lock := testlocks.Open(b, name, backends)
			run(b, func() error {
				lease, err := lock.Acquire(b.Context(), "lock:bench")
				if err != nil {
					return err
				}
				return lease.Release(b.Context())
			})
		})
	}
}
