package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"
)

// sentinelConf is the file of a sentinel, which rewrites it. Two sentinels must miss the master before one of them promotes a replica.
const sentinelConf = `bind 127.0.0.1
port %d
dir %q
sentinel monitor %[3]s 127.0.0.1 %[4]d 2
sentinel down-after-milliseconds %[3]s %[5]d
sentinel failover-timeout %[3]s 3000
sentinel parallel-syncs %[3]s 3
`

// downAfter is for how many milliseconds a sentinel misses a master before it reports that. A sentinel connects to a new master once a
// second, and sends its requests as often. With a shorter time it would replace a master that it has just promoted.
const downAfter = 1500

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
		node := &Node{Restartable: Restartable{Name: name}}
		node.ready, node.start = node.answers, func() (*Process, error) {
			conf := filepath.Join(dir, "sentinel.conf")
			text := fmt.Sprintf(sentinelConf, portOf(node.Addr), dir, SentinelMaster, portOf(t.Nodes[0].AnnouncedAddr()), downAfter)
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				return nil, err
			}
			return s.start(command{name: name, argv: []string{"redis-server", conf, "--sentinel"}})
		}
		if err := s.startAtFreeAddr(ctx, &node.Restartable); err != nil {
			return err
		}
		t.Sentinels = append(t.Sentinels, node)
	}
	return t.AwaitSentinels(ctx, quorate)
}

// quorate returns nil when a sentinel knows all others and all replicas, so that a failover is possible.
func quorate(ctx context.Context, c *redis.SentinelClient) error {
	others, err := c.Sentinels(ctx, SentinelMaster).Result()
	if err != nil {
		return err
	}
	followers, err := c.Replicas(ctx, SentinelMaster).Result()
	if err != nil {
		return err
	}
	if len(others) != sentinels-1 || len(followers) != replicas {
		return fmt.Errorf("it knows %d other sentinels and %d replicas", len(others), len(followers))
	}
	for _, follower := range followers {
		if follower["master-link-status"] != "ok" {
			return errors.New("a replica's connection to the master is down")
		}
	}
	return c.CkQuorum(ctx, SentinelMaster).Err()
}
