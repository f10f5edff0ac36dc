package runner

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
)

// server is a Redis server, and the runner's own client of it.
type server struct {
	*servers.Node
	info *redis.Client
	pid  int
}

func (b *Bench) startRedis(ctx context.Context) error {
	n, err := b.stack.Redis(ctx, fmt.Sprintf("redis-%d", len(b.redis)+1), true, "--maxclients", "20000")
	if err != nil {
		return err
	}
	pid, err := n.Number(ctx, "server", "process_id")
	b.redis = append(b.redis, server{n, redis.NewClient(&redis.Options{Addr: n.Addr, DisableIdentity: true, PoolSize: 1}), int(pid)})
	return err
}

// usage is what the servers have done so far.
type usage struct {
	commands, reads, published int64
	cpu                        time.Duration
}

var (
	callsOf = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+)`)
	readsOf = regexp.MustCompile(`(?m)^total_reads_processed:(\d+)`)
)

// used are the Redis servers that a lock and its sections use. Servers that idle would add to the processor time of a slow row.
func (b *Bench) used(lock string) []server {
	if onNodes(lock) {
		return b.redis
	}
	return b.redis[:1]
}

// usage asks the own counters of the servers that a lock uses, and sums them up. Commands inside scripts are counted, and so is the
// script. The other backends count requests.
func (b *Bench) usage(ctx context.Context, lock string) (usage, error) {
	var u usage
	kept, _ := serverOf(lock)
	for server, s := range b.backends {
		if server != kept {
			continue
		}
		n, err := s.requests(ctx)
		if err != nil {
			return u, fmt.Errorf("%s: %w", server, err)
		}
		u.commands, u.cpu = u.commands+n, u.cpu+cpu(s.pid)
	}
	for _, s := range b.used(lock) {
		u.cpu += cpu(s.pid)
		text, err := s.info.Info(ctx, "commandstats", "stats").Result()
		if err != nil {
			return u, err
		}
		for _, m := range callsOf.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.ParseInt(m[2], 10, 64)
			switch m[1] {
			case "info", "flushall": // the benchmark's own
				continue
			case "publish":
				u.published += n
			}
			u.commands += n
		}
		for _, m := range readsOf.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			u.reads += n
		}
	}
	return u, nil
}
