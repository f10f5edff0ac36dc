package redlock_test

import (
	"math"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/lockstrategy/redlock"
)

func TestRedLockConforms(t *testing.T) {
	t.Parallel()
	for name, queued := range testlocks.AloneAndQueued {
		t.Run("miniredis/"+name, func(t *testing.T) {
			testenv.Slow(t)
			testlocks.OnServer(t, queued)
			locktest.RunInBubbles(t, func(t *testing.T) locktest.Backend {
				var dials []func() (net.Conn, error)
				for range 5 {
					dials = append(dials, testlocks.BubbleServer(t))
				}
				connect := func(t *testing.T, wire *locktest.Wire) (all []redis.UniversalClient) {
					for _, dial := range dials {
						all = append(all, testlocks.BubbleClient(t, wire, dial))
					}
					return all
				}
				return redlockBackend(connect(t, nil), queued, connect)
			})
		})
		t.Run("redis-server/"+name, func(t *testing.T) {
			t.Parallel()
			testlocks.OnServer(t, queued)
			testenv.Needs(t, testenv.RedisServer)
			nodes := testlocks.RedLockNodes(t, true)
			admins := testlocks.Clients(t, nodes)
			locktest.Run(t, redlockBackend(admins, queued, func(t *testing.T, wire *locktest.Wire) (all []redis.UniversalClient) {
				for _, node := range nodes {
					all = append(all, testlocks.Client(t, testlocks.Behind(t, wire, node.Addr)))
				}
				return all
			}))
		})
	}
}

// redlockBackend is RedLock over whatever connect connects to.
func redlockBackend(
	admins []redis.UniversalClient, queued bool, connect func(*testing.T, *locktest.Wire) []redis.UniversalClient,
) locktest.Backend {
	return locktest.Backend{
		Wired: true, Polls: true, Queued: queued, Yields: queued,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			own, sent := connect(t, s.Wire), new(testlocks.Counter)
			for _, c := range own {
				c.AddHook(sent)
			}
			r := testlocks.Must(redlock.New(own, lockstrategy.Timing{Expiry: s.Lease, Request: testlocks.Request(s)}))(t)
			client := testlocks.Opened(t, queued, r, r.Close, s.HandOff)
			client.Sent = sent.Count
			client.Crash = func() {
				for _, c := range own {
					_ = c.Close()
				}
			}
			return client
		},
		Server: &locktest.Server{
			Entries: func(t *testing.T, key string) []string { return owners(t, admins, key) },
			Forget: func(t *testing.T, key string) {
				for _, c := range admins {
					testlocks.Must(c.Del(t.Context(), "redlock:"+key).Result())(t)
				}
			},
			Listening: func(t *testing.T, key string) int {
				channel, fewest := "redlock_channel:"+key, int64(math.MaxInt64)
				for _, c := range admins {
					fewest = min(fewest, testlocks.Must(c.PubSubNumSub(t.Context(), channel).Result())(t)[channel])
				}
				return int(fewest)
			},
		},
	}
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
