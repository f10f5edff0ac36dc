package lockstrategy_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/stack"
	"locklab/topology"
)

func TestRedisConforms(t *testing.T) {
	t.Parallel()
	for name, cohort := range withAndWithoutCohort {
		t.Run("miniredis/"+name, func(t *testing.T) {
			locktest.RunInBubbles(t, func(t *testing.T) locktest.Backend {
				dial := bubbleServer(t)
				b := redisBackend(bubbleClient(t, nil, dial), cohort, func(t *testing.T, s locktest.Settings) redis.UniversalClient {
					return bubbleClient(t, s.Wire, dial)
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
