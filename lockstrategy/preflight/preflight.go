// Package preflight tries a lock on each of its servers, asks them how they are set up, and finds what weakens the lock there.
//
// It acquires, renews and releases the key lock:probe:NAME, where NAME is the instance's. In a cluster there is one for each master,
// lock:probe:NAME:N. On a node of RedLock it is redlock:lock:probe:NAME. A probe that could not be released expires after a second and
// a half.
//
// What is NOT guaranteed: it trusts what the servers report. It does not know how they will be set up later, nor which other clients may
// evict, delete or promote. A server may refuse later what it does not refuse now. A lock without a weakness is still violated when its
// holder ignores the context of its lease.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
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

	// Refuses says that the servers do not do what the lock needs, although they answer: the instance is not ready.
	Refuses bool `json:"refuses,omitempty"`
}

// String is the weakness in a sentence.
func (w Weakness) String() string {
	return fmt.Sprintf("%s: %s; %s (%s)", w.What, w.Why, w.Remedy, strings.Join(w.Where, ", "))
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

// Check asks the servers of a lock. After 2 s it begins no new step, and after 3 s it returns, if the clients let a context bound their
// commands. The only error is [ErrSilent].
type Check func(context.Context) (Report, error)

// Redis asks the server of the Redis lock behind client, or every master of a cluster, for the instance with a name.
func Redis(client redis.UniversalClient, name string) Check {
	return asker{single, lockstrategy.ProbeRedis, probeKey(name)}.of(client)
}

// RedLock asks the nodes of a quorum, for the instance with a name.
func RedLock(nodes []redis.UniversalClient, name string) Check {
	return asker{quorum, lockstrategy.ProbeNode, probeKey(name)}.of(nodes...)
}

// probeKey is the key that an instance tries. Its name may contain braces, which mean something in a key.
func probeKey(name string) string { return "lock:probe:" + url.QueryEscape(name) }

// asker asks the servers of one lock.
type asker struct {
	lock  string
	probe func(ctx context.Context, client redis.UniversalClient, key string) ([]lockstrategy.Refusal, error)
	key   string // that probe tries
}

func (a asker) of(clients ...redis.UniversalClient) Check {
	return func(ctx context.Context) (Report, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		servers := a.askAll(ctx, clients)
		r := Report{Taken: time.Now(), Servers: servers, Weaknesses: weaknesses(a.lock, servers), Unknown: unknowns(servers)}
		if !slices.ContainsFunc(servers, Facts.answered) {
			return r, ErrSilent
		}
		return r, nil
	}
}

// askAll asks all servers simultaneously.
func (a asker) askAll(ctx context.Context, clients []redis.UniversalClient) (servers []Facts) {
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
				f := askServer(ctx, client)
				if f.is(saidMode, "cluster") {
					f.askSize(ctx, client)
				}
				a.try(ctx, &f, client, a.key)
				add(f)
				return
			}
			// go-redis first asks a node for the masters. When that node hangs, it uses the masters that it knew before. Half of the
			// time is for that.
			masters, cancel := context.WithTimeout(ctx, timeout/2)
			defer cancel()
			if err := cluster.ForEachMaster(masters, func(_ context.Context, master *redis.Client) error {
				f := askServer(ctx, master)
				a.try(ctx, &f, cluster, keyOn(ctx, cluster, master, a.key))
				add(f)
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

// try tries a lock on a server that has answered.
func (a asker) try(ctx context.Context, f *Facts, client redis.UniversalClient, key string) {
	if !f.answered() || key == "" {
		return
	}
	var err error
	if f.refusals, err = a.probe(ctx, client, key); err != nil {
		f.refused("whether it grants a lock", "a lock", err)
	}
	f.votes = err == nil && !slices.ContainsFunc(f.refusals, essential)
}

// keyOn is a key that begins with key and belongs to a master of a cluster; empty: none was found.
func keyOn(ctx context.Context, cluster *redis.ClusterClient, master *redis.Client, key string) string {
	for i := range 1000 { // far more than a cluster has masters
		key := fmt.Sprintf("%s:%d", key, i)
		if node, err := cluster.MasterForKey(ctx, key); err == nil && node.Options().Addr == master.Options().Addr {
			return key
		}
	}
	return ""
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
