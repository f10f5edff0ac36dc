package lockstrategy_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/stack"
	"locklab/topology"
)

// Every strategy conforms alone, and behind a cohort, which promises more.
var withAndWithoutCohort = map[string]bool{"alone": false, "cohort": true}

// inLoop leaves the cases without a cohort out of the inner loop, where they cost seconds: a cohort's are the same and more.
func inLoop(t *testing.T, cohort bool) {
	t.Helper()
	if !cohort {
		testenv.Slow(t)
	}
}

// onServer is for a store that is a process of its own. There, `make test` has a cohort's cases: they are the same and more.
func onServer(t *testing.T, cohort bool) {
	t.Helper()
	if !cohort {
		testenv.Check(t, testenv.Whole)
	}
}

func TestProcessMutexConforms(t *testing.T) {
	t.Parallel()
	locktest.RunInBubbles(t, func(*testing.T) locktest.Backend {
		return locktest.Backend{Cohort: true, Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			return locktest.Client{Opened: open(t, lockstrategy.NameProcess, lockstrategy.Backends{HandOff: s.HandOff})}
		}}
	})
}

func TestRedisConforms(t *testing.T) {
	t.Parallel()
	for name, cohort := range withAndWithoutCohort {
		t.Run("miniredis/"+name, func(t *testing.T) {
			locktest.RunInBubbles(t, func(t *testing.T) locktest.Backend {
				dial := inBubble(t)
				b := redisBackend(inMemory(t, nil, dial), cohort, func(t *testing.T, s locktest.Settings) redis.UniversalClient {
					return inMemory(t, s.Wire, dial)
				})
				b.Wired = true
				return b
			})
		})
		t.Run("redis-server/"+name, func(t *testing.T) {
			t.Parallel()
			onServer(t, cohort)
			testenv.Needs(t, testenv.RedisServer)
			node := testenv.Redis(t, true)
			b := redisBackend(client(t, node.Addr), cohort, func(t *testing.T, s locktest.Settings) redis.UniversalClient {
				return client(t, behind(t, s.Wire, node.Addr))
			})
			b.Wired = true
			locktest.Run(t, b)
		})
	}
}

// inBubble starts a miniredis in the bubble of a test, and returns what connects to it.
func inBubble(t *testing.T) (dial func() (net.Conn, error)) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	t.Cleanup(func() {
		synctest.Wait() // a connection in the background is made, or has failed
		server.Close()
	})
	return server.Dial
}

// inMemory opens a client in a bubble, behind a wire if there is one.
func inMemory(t *testing.T, wire *locktest.Wire, dial func() (net.Conn, error)) *redis.Client {
	near := func(context.Context, string, string) (net.Conn, error) { return dial() }
	if wire != nil {
		near = wire.Before(t, dial)
	}
	c := testenv.InBubble(near)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// In the other topologies the clients find the servers by themselves, so no wire lies between.
func TestRedisConformsInEveryTopology(t *testing.T) {
	t.Parallel()
	for _, kind := range []topology.Kind{topology.MasterSlave, topology.Sentinel, topology.Cluster} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			if kind != topology.Cluster { // the others differ in how a client finds the master, and not in what it asks
				testenv.Check(t, testenv.Whole)
			}
			started := testenv.Topology(t, string(kind))
			connect := func(t *testing.T, _ locktest.Settings) redis.UniversalClient {
				r, err := topology.Open(testenv.Context(t), topology.Config{
					Kind: kind, Addrs: started.Addrs, SentinelMaster: stack.SentinelMaster,
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Close() }) // a client that crashed is closed already
				return r.Master
			}
			for name, cohort := range withAndWithoutCohort {
				t.Run(name, func(t *testing.T) {
					onServer(t, cohort)
					locktest.Run(t, redisBackend(connect(t, locktest.Settings{}), cohort, connect))
				})
			}
		})
	}
}

// redisBackend is the Redis lock over whatever connect connects to.
func redisBackend(
	admin redis.UniversalClient, cohort bool, connect func(*testing.T, locktest.Settings) redis.UniversalClient,
) locktest.Backend {
	return locktest.Backend{
		Fenced: true, Admin: true, Cohort: cohort, Yields: cohort,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			c, sent := connect(t, s), new(counter)
			c.AddHook(sent)
			r := must(lockstrategy.NewRedis(c, lockstrategy.Timing{Expiry: s.Lease, Request: request(s)}))(t)
			opened := behindCohort(t, cohort, r, r.Close, s.HandOff)
			opened.Admin = r
			return locktest.Client{Opened: opened, Crash: func() { _ = c.Close() }, Sent: sent.count}
		},
		Server: &locktest.Server{
			Entries: func(t *testing.T, key string) (all []string) {
				for owner, count := range must(admin.HGetAll(t.Context(), key).Result())(t) {
					all = append(all, owner+" "+count)
				}
				return all
			},
			Forget:      func(t *testing.T, key string) { must(admin.Del(t.Context(), key).Result())(t) },
			Listening:   func(t *testing.T, key string) int { return listening(t, admin, "redisson_lock__channel:{"+key+"}") },
			ForgetToken: func(t *testing.T, key string) { must(admin.Del(t.Context(), "locklab_grant:{"+key+"}").Result())(t) },
			Foreign: func(t *testing.T, key, owner string) {
				must(admin.HSet(t.Context(), key, owner, 2).Result())(t)
				must(admin.PExpire(t.Context(), key, time.Hour).Result())(t)
			},
		},
	}
}

// listening counts the processes that listen to a channel. In a cluster channels are sharded.
func listening(t *testing.T, admin redis.UniversalClient, channel string) int {
	t.Helper()
	cluster, sharded := admin.(*redis.ClusterClient)
	if !sharded {
		return int(must(admin.PubSubNumSub(t.Context(), channel).Result())(t)[channel])
	}
	master := must(cluster.MasterForKey(t.Context(), channel))(t)
	return int(must(master.PubSubShardNumSub(t.Context(), channel).Result())(t)[channel])
}

func TestRedLockConforms(t *testing.T) {
	t.Parallel()
	for name, cohort := range withAndWithoutCohort {
		t.Run("miniredis/"+name, func(t *testing.T) {
			inLoop(t, cohort)
			locktest.RunInBubbles(t, func(t *testing.T) locktest.Backend {
				var dials []func() (net.Conn, error)
				for range 5 {
					dials = append(dials, inBubble(t))
				}
				connect := func(t *testing.T, wire *locktest.Wire) (all []redis.UniversalClient) {
					for _, dial := range dials {
						all = append(all, inMemory(t, wire, dial))
					}
					return all
				}
				return redlockBackend(connect(t, nil), cohort, connect)
			})
		})
		t.Run("redis-server/"+name, func(t *testing.T) {
			t.Parallel()
			onServer(t, cohort)
			testenv.Needs(t, testenv.RedisServer)
			nodes := redlockNodes(t, true)
			locktest.Run(t, redlockBackend(clients(t, nodes), cohort, func(t *testing.T, wire *locktest.Wire) (all []redis.UniversalClient) {
				for _, node := range nodes {
					all = append(all, client(t, behind(t, wire, node.Addr)))
				}
				return all
			}))
		})
	}
}

// redlockBackend is RedLock over whatever connect connects to.
func redlockBackend(
	admins []redis.UniversalClient, cohort bool, connect func(*testing.T, *locktest.Wire) []redis.UniversalClient,
) locktest.Backend {
	return locktest.Backend{
		Wired: true, Polls: true, Cohort: cohort, Yields: cohort,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			own, sent := connect(t, s.Wire), new(counter)
			for _, c := range own {
				c.AddHook(sent)
			}
			r := must(lockstrategy.NewRedLock(own, lockstrategy.Timing{Expiry: s.Lease, Request: request(s)}))(t)
			return locktest.Client{
				Opened: behindCohort(t, cohort, r, r.Close, s.HandOff),
				Crash: func() {
					for _, c := range own {
						_ = c.Close()
					}
				},
				Sent: sent.count,
			}
		},
		Server: &locktest.Server{
			Entries: func(t *testing.T, key string) []string { return owners(t, admins, key) },
			Forget: func(t *testing.T, key string) {
				for _, c := range admins {
					must(c.Del(t.Context(), "redlock:"+key).Result())(t)
				}
			},
			Listening: func(t *testing.T, key string) int {
				channel, fewest := "redlock_channel:"+key, int64(math.MaxInt64)
				for _, c := range admins {
					fewest = min(fewest, must(c.PubSubNumSub(t.Context(), channel).Result())(t)[channel])
				}
				return int(fewest)
			},
		},
	}
}

// behindCohort is a strategy that ends with the test, behind a cohort if there is to be one.
func behindCohort(t *testing.T, cohort bool, s lockstrategy.Strategy, end func() error, bounds lockstrategy.HandOff) *lockstrategy.Opened {
	t.Helper()
	opened := &lockstrategy.Opened{Strategy: s, Close: end}
	if cohort {
		c := must(lockstrategy.NewCohort(s, bounds))(t)
		opened.Strategy, opened.Cohort = c, c
		opened.Close = func() error {
			c.Close()
			return end()
		}
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// owners lists the owner that a majority of the nodes has, or each that any node has when there is no such owner. Beside a majority, a
// node may keep an older owner whose release did not reach it.
func owners(t *testing.T, nodes []redis.UniversalClient, key string) (all []string) {
	held := make(map[string]int) // on how many nodes
	for _, c := range nodes {
		if owner, err := c.Get(t.Context(), "redlock:"+key).Result(); err == nil {
			held[owner]++
		}
	}
	for owner, n := range held {
		if n > len(nodes)/2 {
			return []string{owner}
		}
		all = append(all, owner)
	}
	return all
}

// behind is the address of a server behind a wire, if there is one.
func behind(t *testing.T, wire *locktest.Wire, addr string) string {
	if wire == nil {
		return addr
	}
	return wire.To(t, addr)
}

// must fails the test unless a question was answered.
func must[T any](answer T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// counter counts the commands that a server has executed for a client, but for those with which a connection
// begins. One that asks for a script that the server has not got is none.
type counter struct{ n atomic.Int64 }

func (c *counter) count() int { return int(c.n.Load()) }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); (err == nil || errors.Is(err, redis.Nil)) && name != "hello" && name != "client" {
			c.n.Add(1)
		}
		return err
	}
}

// ProcessPipelineHook counts nothing: pipelines are how connections begin.
func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// request is long: the machine is busy with all the other cases, and may stall. Beside a short lease, a request that hangs leaves time for
// another.
func request(s locktest.Settings) time.Duration { return cmp.Or(s.Request, patient(s.Lease)) }

// patient is how long a test waits for an answer beside a lease, unless a late answer is its subject; 0: the default lease.
func patient(lease time.Duration) time.Duration {
	return min(20*time.Second, cmp.Or(lease, lockstrategy.DefaultLease)*3/5)
}
