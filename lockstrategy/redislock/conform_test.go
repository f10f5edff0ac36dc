package redislock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/lockstrategy/redislock"
	"locklab/topology"
)

func TestRedisConforms(t *testing.T) {
	t.Parallel()
	for name, queued := range testlocks.AloneAndQueued {
		t.Run("miniredis/"+name, func(t *testing.T) {
			locktest.RunInBubbles(t, func(t *testing.T) locktest.Backend {
				dial := testlocks.BubbleServer(t)
				b := redisBackend(testlocks.BubbleClient(t, nil, dial), queued, func(t *testing.T, s locktest.Settings) redis.UniversalClient {
					return testlocks.BubbleClient(t, s.Wire, dial)
				})
				b.Wired = true
				return b
			})
		})
		t.Run("redis-server/"+name, func(t *testing.T) {
			t.Parallel()
			testlocks.OnServer(t, queued)
			node := sharedRedis.Of(t)
			b := redisBackend(testlocks.Client(t, node.Addr), queued, func(t *testing.T, s locktest.Settings) redis.UniversalClient {
				return testlocks.Client(t, testlocks.Behind(t, s.Wire, node.Addr))
			})
			b.Wired = true
			locktest.Run(t, b)
		})
	}
}

// In the other topologies the clients find the servers by themselves, so no wire lies between.
func TestRedisConformsInEveryTopology(t *testing.T) {
	t.Parallel()
	for _, kind := range []topology.Kind{topology.MasterSlave, topology.Sentinel, topology.Cluster} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var started *servers.Topology
			if kind == topology.Cluster {
				started = sharedCluster.Of(t)
			} else { // the others differ in how a client finds the master, and not in what it asks
				testenv.Check(t, testenv.Whole)
				started = testenv.Topology(t, string(kind))
			}
			connect := func(t *testing.T, _ locktest.Settings) redis.UniversalClient {
				r, err := topology.Open(testenv.Context(t), topology.Config{
					Kind: kind, Addrs: started.Addrs, SentinelMaster: servers.SentinelMaster,
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Close() }) // a client that crashed is closed already
				return r.Master
			}
			for name, queued := range testlocks.AloneAndQueued {
				t.Run(name, func(t *testing.T) {
					testlocks.OnServer(t, queued)
					locktest.Run(t, redisBackend(connect(t, locktest.Settings{}), queued, connect))
				})
			}
		})
	}
}

// redisBackend is the Redis lock over whatever connect connects to.
func redisBackend(
	admin redis.UniversalClient, queued bool, connect func(*testing.T, locktest.Settings) redis.UniversalClient,
) locktest.Backend {
	return locktest.Backend{
		Fenced: true, Admin: true, Queued: queued, Yields: queued,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			c, sent := connect(t, s), new(testlocks.Counter)
			c.AddHook(sent)
			r := testlocks.Must(redislock.New(c, lockstrategy.Timing{Expiry: s.Lease, Request: testlocks.Request(s)}))(t)
			client := testlocks.Opened(t, queued, r, r.Close, s.HandOff)
			client.Admin, client.Sent = r, sent.Count
			client.Crash = func() { _ = c.Close() }
			return client
		},
		Server: &locktest.Server{
			Entries: func(t *testing.T, key string) (all []string) {
				for owner, count := range testlocks.Must(admin.HGetAll(t.Context(), key).Result())(t) {
					all = append(all, owner+" "+count)
				}
				return all
			},
			Forget:    func(t *testing.T, key string) { testlocks.Must(admin.Del(t.Context(), key).Result())(t) },
			Listening: func(t *testing.T, key string) int { return listening(t, admin, "redisson_lock__channel:{"+key+"}") },
			ForgetToken: func(t *testing.T, key string) {
				testlocks.Must(admin.Del(t.Context(), "locklab_grant:{"+key+"}").Result())(t)
			},
			Foreign: func(t *testing.T, key, owner string) {
				testlocks.Must(admin.HSet(t.Context(), key, owner, 2).Result())(t)
				testlocks.Must(admin.PExpire(t.Context(), key, time.Hour).Result())(t)
			},
		},
	}
}

// listening counts the processes that listen to a channel. In a cluster channels are sharded.
func listening(t *testing.T, admin redis.UniversalClient, channel string) int {
	t.Helper()
	cluster, sharded := admin.(*redis.ClusterClient)
	if !sharded {
		return int(testlocks.Must(admin.PubSubNumSub(t.Context(), channel).Result())(t)[channel])
	}
	master := testlocks.Must(cluster.MasterForKey(t.Context(), channel))(t)
	return int(testlocks.Must(master.PubSubShardNumSub(t.Context(), channel).Result())(t)[channel])
}
