// Package interop_test proves that the Redis lock and Redisson's are one lock. It runs real Redisson, in three versions, over every
// topology.
//
// What is NOT proved: versions and settings other than these; failovers, which break either lock.
package interop_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
	"locklab/versions"
)

func TestMain(m *testing.M) {
	peerMain()
	testenv.Main(m)
}

// bench is one topology with the peers that are connected to it.
type bench struct {
	kind   string
	theirs [2]*peer // JVMs
	ours   [2]*peer // processes of ours
	redis  *topology.Redis
	locks  *versions.Opened // this process's
}

type testCase struct {
	name string
	run  func(b *bench, ctx context.Context, t *testing.T)
}

// cases are what must hold between every version of Redisson and us, in every topology.
var cases = []testCase{
	{"counter", (*bench).counts},
	{"counter without our lock", (*bench).losesWithoutLock},
	{"each sees the other's lock", (*bench).seen},
	{"a release notifies waiters", (*bench).waits},
	{"freed by force", (*bench).forced},
}

func TestRedisson(t *testing.T) {
	testenv.Check(t, testenv.Interop)
	testenv.Slow(t)
	for _, need := range []testenv.Need{testenv.RedisServer, testenv.JDK, testenv.Maven} {
		testenv.Needs(t, need)
	}
	theirs := startJVMs(t)
	for _, kind := range []string{"single", "master-slave", "sentinel", "cluster"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx := testenv.Context(t)
			started, ours := testenv.Topology(t, kind), [2]*peer{process(t, "go-1"), process(t, "go-2")}
			connect(ctx, t, kind, started.Addrs, ours[:]...)
			for _, version := range redissonVersions {
				t.Run(version, func(t *testing.T) {
					b := &bench{kind: kind, theirs: theirs[version], ours: ours}
					b.open(testenv.Context(t), t, started)
					for _, c := range casesOf(kind, version) {
						t.Run(c.name, func(t *testing.T) { c.run(b, testenv.Context(t), t) })
					}
				})
			}
			if kind == "cluster" {
				t.Run("sharded messages are switched off", func(t *testing.T) {
					connect(ctx, t, unsharded, started.Addrs, ours[:]...)
					b := &bench{kind: unsharded, theirs: theirs[redissonVersions[0]], ours: ours}
					b.open(testenv.Context(t), t, started)
					for _, c := range ofOtherMessages {
						t.Run(c.name, func(t *testing.T) { c.run(b, testenv.Context(t), t) })
					}
				})
			}
		})
	}
}

// unsharded is a cluster to which Redisson is connected with its sharded Pub/Sub switched off.
const unsharded = "cluster-unsharded"

// ofOtherMessages are the cases where neither side receives the other's messages. In a cluster of Redis 7 our messages are sharded, as
// Redisson's are since 3.22 unless that is switched off.
var ofOtherMessages = []testCase{{"each sees the other's lock", (*bench).seen}, {"Java receives other messages", (*bench).receivesOthers}}

// casesOf are the cases of one version over one topology.
func casesOf(kind, version string) []testCase {
	if kind == "cluster" && version == oldest {
		return ofOtherMessages
	}
	return cases
}

// startJVMs starts two JVMs of each version, all at the same time. They serve all topologies.
func startJVMs(t *testing.T) map[string][2]*peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // Maven builds for each version, and then all JVMs start
	defer cancel()
	theirs := make(map[string][2]*peer)
	for _, version := range redissonVersions {
		classpath := build(ctx, t, version)
		theirs[version] = [2]*peer{jvm(t, "java-1-"+version, version, classpath), jvm(t, "java-2-"+version, version, classpath)}
	}
	for _, version := range redissonVersions {
		if loaded := theirs[version][0].must(ctx, t, "main", "version"); loaded != version {
			t.Fatalf("the JVM has loaded Redisson %s, wanted is %s", loaded, version)
		}
	}
	return theirs
}

// open connects the JVMs and this process, and lets each of them count alone for a while. A JVM loads classes in its
// first turn, and that would look like starvation.
func (b *bench) open(ctx context.Context, t *testing.T, started *servers.Topology) {
	t.Helper()
	connect(ctx, t, b.kind, started.Addrs, b.theirs[:]...)
	var err error
	if b.redis, err = topology.Open(ctx, config(b.kind, started.Addrs)); err != nil {
		t.Fatal(err)
	}
	if b.locks, err = versions.Open(versions.NameRedis, versions.Backends{Redis: b.redis.Master}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.locks.Close(); err != nil {
			t.Error(err)
		}
		b.redis.Close()
	})
	t.Run("warm up", func(t *testing.T) {
		for _, p := range append(b.theirs[:], b.ours[:]...) {
			key := b.key(t) + p.name
			if err := p.increment(ctx, "warm", b.kind, versions.NameRedis, key, key+":counter"); err != nil {
				t.Fatal(err)
			}
			p.must(ctx, t, "warm", "share", b.kind)
			p.must(ctx, t, "warm", "enough", b.kind)
		}
	})
}

// connect connects peers to a topology until the test's end, all at the same time.
func connect(ctx context.Context, t *testing.T, kind string, addrs []string, peers ...*peer) {
	t.Helper()
	var all sync.WaitGroup
	for _, p := range peers {
		all.Go(func() {
			if _, err := p.do(ctx, "main", append([]string{"connect", kind}, addrs...)...); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for _, p := range peers {
			p.must(context.Background(), t, "main", "disconnect", kind)
		}
	})
}

// key is a key of this test's own. The braces are a hash tag, as the app's keys have one.
func (b *bench) key(t *testing.T) string {
	return "{" + t.Name() + "}"
}

func (b *bench) read(ctx context.Context, t *testing.T, key string) int64 {
	t.Helper()
	value, err := b.redis.Master.Get(ctx, key).Int64()
	if err != nil && value != 0 {
		t.Fatal(err)
	}
	return value
}
