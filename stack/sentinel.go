package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"
)

// sentinelConf is written for each sentinel, which rewrites it: a failover begins when a majority
// has missed the master for so many milliseconds.
const sentinelConf = `bind 127.0.0.1
port %d
dir %s
sentinel monitor %[3]s 127.0.0.1 %[4]d 2
sentinel down-after-milliseconds %[3]s %[5]d
sentinel failover-timeout %[3]s 3000
sentinel parallel-syncs %[3]s 3
`

// missed is for how many milliseconds a sentinel misses a master before it says so. It dials a new master once a second, and asks it as often:
// with less it would replace one that it has only just promoted.
const missed = 1500

func (s *Stack) sentinel(ctx context.Context, t *Topology) error {
	if err := s.masterSlave(ctx, t); err != nil {
		return err
	}
	for i := range sentinels {
		name := fmt.Sprintf("sentinel-%d", i+1)
		dir, err := s.workdir(name)
		if err != nil {
			return err
		}
		node, err := s.node(ctx, name, func(addr string) (*Process, error) {
			conf := filepath.Join(dir, "sentinel.conf")
			text := fmt.Sprintf(sentinelConf, portOf(addr), dir, SentinelMaster, portOf(t.Nodes[0].AnnouncedAddr()), missed)
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				return nil, err
			}
			return s.start(name, os.Environ(), "redis-server", conf, "--sentinel")
		})
		if err != nil {
			return err
		}
		t.Sentinels = append(t.Sentinels, node)
	}
	for _, node := range t.Sentinels {
		if err := s.agreed(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// agreed waits until a sentinel knows all others and all replicas, so that it could fail over now.
func (s *Stack) agreed(ctx context.Context, node *Node) error {
	client := redis.NewSentinelClient(&redis.Options{Addr: node.Addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	defer client.Close()
	return await(ctx, node, func(ctx context.Context) error {
		others, err := client.Sentinels(ctx, SentinelMaster).Result()
		if err != nil {
			return err
		}
		followers, err := client.Replicas(ctx, SentinelMaster).Result()
		if err != nil {
			return err
		}
		if len(others) != sentinels-1 || len(followers) != replicas {
			return fmt.Errorf("it knows %d other sentinels and %d replicas", len(others), len(followers))
		}
		for _, follower := range followers {
			if follower["master-link-status"] != "ok" {
				return errors.New("a replica's link to the master is down")
			}
		}
		return client.CkQuorum(ctx, SentinelMaster).Err()
	})
}
