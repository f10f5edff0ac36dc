// Package preflight asks the servers of a lock how they are set up, and finds what weakens the lock there.
//
// What is NOT guaranteed: it trusts what the servers report. It does not know how they will be set up later, nor which other clients may
// evict, delete or promote. A lock without a weakness is still violated when its holder ignores the context of its lease.
package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// timeout bounds all questions to the servers of a lock. A clock that differs by more is a weakness.
const timeout = 2 * time.Second

// Report is what a preflight found.
type Report struct {
	Taken      time.Time  `json:"at"`
	Servers    []Facts    `json:"-"`          // each server that can grant: of a cluster every master, of RedLock every node
	Weaknesses []Weakness `json:"weaknesses"` // the grave ones first; never nil
	Unknown    []Unknown  `json:"unknown"`    // where no weakness could be looked for; never nil
}

// Weakness is one reason why the lock is weaker here than it could be: a sentence for each question.
type Weakness struct {
	Where  []string `json:"where"` // servers
	What   string   `json:"what"`  // how they are set up
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

// ErrSilent says that no server answered: the report contains nothing else.
var ErrSilent = errors.New("preflight: no server answered")

// The locks that are asked for.
const (
	single = "redis"   // one Redis, or a cluster
	quorum = "redlock" // independent nodes
)

// Ask asks the servers of a lock. It takes 2 s at most, if the clients let a context bound their commands. The only error is [ErrSilent].
type Ask func(context.Context) (Report, error)

// Redis asks the server of the Redis lock behind client, or every master of a cluster.
func Redis(client redis.UniversalClient) Ask { return asker(single, client) }

// RedLock asks the nodes of a quorum.
func RedLock(nodes []redis.UniversalClient) Ask { return asker(quorum, nodes...) }

func asker(lock string, clients ...redis.UniversalClient) Ask {
	return func(ctx context.Context) (Report, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		servers := askAll(ctx, clients)
		r := Report{Taken: time.Now(), Servers: servers, Weaknesses: weaknesses(lock, servers), Unknown: unknowns(servers)}
		if !slices.ContainsFunc(servers, Facts.answered) {
			return r, ErrSilent
		}
		return r, nil
	}
}

// askAll asks all servers simultaneously.
func askAll(ctx context.Context, clients []redis.UniversalClient) (servers []Facts) {
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
	)
	add := func(f Facts) {
		mu.Lock()
		defer mu.Unlock()
		servers = append(servers, f)
	}
	for _, client := range clients {
		asked.Go(func() {
			cluster, ok := client.(*redis.ClusterClient)
			if !ok {
				add(askServer(ctx, client))
				return
			}
			// go-redis first asks a node for the masters. When that node hangs, it uses the masters that it knew before. Half of the
			// time is for that.
			masters, cancel := context.WithTimeout(ctx, timeout/2)
			defer cancel()
			if err := cluster.ForEachMaster(masters, func(_ context.Context, master *redis.Client) error {
				add(askServer(ctx, master))
				return nil
			}); err != nil {
				add(silent("the cluster", err))
			}
		})
	}
	asked.Wait()
	slices.SortFunc(servers, func(a, b Facts) int { return strings.Compare(a.Node, b.Node) })
	return servers
}

// unknowns lists each thing that was not told once, with its servers.
func unknowns(servers []Facts) []Unknown {
	all := []Unknown{}
	for _, f := range servers {
		for _, u := range f.unknown {
			i := slices.IndexFunc(all, func(other Unknown) bool { return other.What == u.What && other.Why == u.Why })
			if i < 0 {
				i, all = len(all), append(all, u)
			}
			all[i].Where = append(all[i].Where, f.Node)
		}
	}
	return all
}
