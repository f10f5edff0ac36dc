// Package preflight asks the servers of a lock how they are set up, and says what weakens the lock there.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Report is what a preflight found: the servers behind a lock as they are set up now, and what about
// them weakens the lock. It takes their word. What they will be told later, and who else may evict,
// delete or promote, it cannot know; and it is no verdict: a lock without weaknesses here still breaks
// when its holder ignores its lease's context.
type Report struct {
	Taken      time.Time  `json:"at"`
	Cluster    bool       `json:"-"`          // the client is one of a cluster
	Sharded    bool       `json:"-"`          // a cluster with sharded publish: releases are told there, as Redisson does
	Servers    []Facts    `json:"-"`          // each server that can grant: of a cluster every master, of RedLock every node
	Weaknesses []Weakness `json:"weaknesses"` // the grave ones first; never nil
	Unknown    []Unknown  `json:"unknown"`    // what no weakness was looked for in; never nil
}

// Weakness is one reason why the lock is weaker here than it could be: a sentence for each question.
type Weakness struct {
	Where  []string `json:"where"` // servers
	What   string   `json:"what"`  // how it is
	Why    string   `json:"why"`   // what that does to a lock
	Remedy string   `json:"remedy"`
	Grave  bool     `json:"grave"` // this is no lock at all
}

// Unknown is what a server did not tell. A managed Redis refuses some questions.
type Unknown struct {
	Where []string `json:"where"` // servers
	What  string   `json:"what"`
	Why   string   `json:"why"`
}

// ErrSilent says that no server answered.
var ErrSilent = errors.New("preflight: no server answered")

// The locks that are asked for.
const (
	single = "redis"   // one Redis, or a cluster
	quorum = "redlock" // independent nodes
)

// Redis asks the server of the Redis lock behind client, or every master of a cluster. It takes
// one request timeout at most (0: two seconds), if client lets a context bound its commands; a clock
// that differs by more than that is a weakness.
//
// What a server refuses to tell is in Unknown. The error wraps [ErrSilent]: then the report says only that.
func Redis(ctx context.Context, client redis.UniversalClient, request time.Duration) (Report, error) {
	return ask(ctx, single, []redis.UniversalClient{client}, request)
}

// RedLock asks the nodes of a quorum, as [Redis] does.
func RedLock(ctx context.Context, nodes []redis.UniversalClient, request time.Duration) (Report, error) {
	return ask(ctx, quorum, nodes, request)
}

func ask(ctx context.Context, lock string, clients []redis.UniversalClient, request time.Duration) (Report, error) {
	if request <= 0 {
		request = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	servers, silent := askAll(ctx, clients)
	r := Report{Taken: time.Now(), Servers: servers}
	for i := range servers {
		servers[i].ClockBound = request
		r.Cluster = r.Cluster || servers[i].Cluster
	}
	r.Sharded = allSharded(servers)
	r.Weaknesses = append([]Weakness{}, weaknesses(lock, servers)...)
	r.Unknown = append([]Unknown{}, unknowns(servers)...)
	if !slices.ContainsFunc(servers, Facts.answered) {
		return r, fmt.Errorf("%w: %w", ErrSilent, silent)
	}
	return r, nil
}

// allSharded reports whether releases may be told on sharded channels. One server that refuses is
// enough to say no; one that is silent is not, or an instance that starts during a failover would tell
// where the others do not listen.
func allSharded(servers []Facts) bool {
	some := false
	for _, f := range servers {
		if !f.Cluster || f.is(saidSharded, saidNo) || f.answered() && f.Said[saidSharded] == "" {
			return false
		}
		some = some || f.is(saidSharded, saidYes)
	}
	return some
}

// askAll asks all servers at the same time. The error is one of those of the servers that are silent.
func askAll(ctx context.Context, clients []redis.UniversalClient) (servers []Facts, silent error) {
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
	)
	note := func(f Facts, err error) {
		mu.Lock()
		defer mu.Unlock()
		servers = append(servers, f)
		if err != nil {
			silent = err
		}
	}
	for _, client := range clients {
		asked.Go(func() {
			cluster, ok := client.(*redis.ClusterClient)
			if !ok {
				note(askServer(ctx, client, addrOf(client), false))
				return
			}
			if err := forEachMaster(ctx, cluster, func(ctx context.Context, master *redis.Client) {
				note(askServer(ctx, master, addrOf(master), true))
			}); err != nil { // nobody says who the masters are
				note(silentFacts("the cluster", true, err), err)
			}
		})
	}
	asked.Wait()
	slices.SortFunc(servers, func(a, b Facts) int { return strings.Compare(a.Node, b.Node) })
	return servers, silent
}

// forEachMaster asks each master. go-redis first asks some node who they are, and when that one hangs takes what it
// knew before: for which it gets half of the time, and no more.
func forEachMaster(ctx context.Context, cluster *redis.ClusterClient, ask func(context.Context, *redis.Client)) error {
	who := ctx
	if end, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		who, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	return cluster.ForEachMaster(who, func(_ context.Context, master *redis.Client) error {
		ask(ctx, master)
		return nil
	})
}

// unknowns says of each reason once where it was met.
func unknowns(servers []Facts) []Unknown {
	var all []Unknown
	for _, f := range servers {
		for _, u := range f.Unknown {
			i := slices.IndexFunc(all, func(other Unknown) bool { return other.What == u.What && other.Why == u.Why })
			if i < 0 {
				i, all = len(all), append(all, Unknown{What: u.What, Why: u.Why})
			}
			all[i].Where = append(all[i].Where, f.Node)
		}
	}
	return all
}
