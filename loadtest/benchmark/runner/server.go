package runner

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/loadtest/benchmark/worker"
)

// server is a Redis server, and the runner's own client of it.
type server struct {
	*servers.Node
	info *redis.Client
}

// onNodes reports whether a lock is kept on five nodes.
func onNodes(lock string) bool {
	return slices.Contains([]string{"redlock", "redlock" + worker.Bare, "redsync5"}, lock)
}

// used are the Redis servers that a lock and its sections use. Servers that idle would add to the processor time of a slow row.
func (b *Bench) used(lock string) []server {
	if onNodes(lock) {
		return b.redis
	}
	return b.redis[:1]
}

// usage is what the servers have done so far.
type usage struct {
	commands, reads int64
	cpu             time.Duration // of Redis
}

// The counters of INFO. Commands inside scripts are counted, and so is the script.
var (
	callsOf = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+)`)
	readsOf = regexp.MustCompile(`(?m)^total_reads_processed:(\d+)`)
	cpuOf   = regexp.MustCompile(`(?m)^used_cpu_(?:sys|user):([\d.]+)`)
)

// usage sums up the counters of the servers that a lock uses. A server that is no Redis counts requests, and this one, too.
func (b *Bench) usage(ctx context.Context, lock string) (u usage, err error) {
	if kind, other := serverOf(lock); other {
		asking, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if u.commands, err = kind.Requests(asking, b.backends[kind.Name].Addrs[0]); err != nil {
			return u, fmt.Errorf("%s: %w", kind.Title, err)
		}
	}
	for _, s := range b.used(lock) {
		text, err := s.info.Info(ctx, "commandstats", "stats", "cpu").Result()
		if err != nil {
			return u, err
		}
		for _, m := range callsOf.FindAllStringSubmatch(text, -1) {
			if m[1] != "info" && m[1] != "flushall" { // the benchmark's own
				n, _ := strconv.ParseInt(m[2], 10, 64)
				u.commands += n
			}
		}
		for _, m := range readsOf.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			u.reads += n
		}
		for _, m := range cpuOf.FindAllStringSubmatch(text, -1) {
			seconds, _ := strconv.ParseFloat(m[1], 64)
			u.cpu += time.Duration(seconds * float64(time.Second))
		}
	}
	return u, nil
}
