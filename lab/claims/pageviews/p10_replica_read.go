package pageviews

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/pview"
	"locklab/topology"
	"locklab/versions"
)

var P10 = Experiments.Add(lab.Experiment{
	ID:       "P10-replica-read",
	Articles: lab.Articles{"A4"},
	Claim: `
		A counter that is read from a replica loses updates inside a lock that works, unless the lock waits for all replicas of the
		counter.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}, Takes: 80 * time.Second, Trials: 1},
	Check:    services.LostViews,
	Variants: []lab.Variant{
		ours("master-slave, read from the master", topology.MasterSlave, false),
		ours("sentinel, read from the master", topology.Sentinel, false),
		ours("cluster, read from the master", topology.Cluster, false),
		ours("master-slave, read from a replica", topology.MasterSlave, true),
		ours("sentinel, read from a replica", topology.Sentinel, true),
		ours("cluster, read from a replica", topology.Cluster, true),
		a4("v3", redissonA4, "master-slave", lab.Sometimes, jvms{over: topology.MasterSlave}),
		a4("v3", redissonA4, "sentinel", lab.Sometimes, jvms{over: topology.Sentinel}),
		a4("v3", redissonA4, "cluster", lab.Sometimes, jvms{over: topology.Cluster}),
		a4("v3", redissonA4, "master-slave, readMode MASTER", lab.Never, jvms{over: topology.MasterSlave, readMode: readMaster}),
		a4("v3", redisson, "master-slave", lab.Never, jvms{over: topology.MasterSlave}),
		a4("v3", redisson, "sentinel", lab.Never, jvms{over: topology.Sentinel}),
		a4("v3", redisson, "cluster", lab.Sometimes, jvms{over: topology.Cluster}),
		a4("v3", redisson, "cluster, the lock in the counter's slot", lab.Never, jvms{over: topology.Cluster, lock: "lock:{pview}"}),
		a4("v3", redisson, "cluster, readMode MASTER", lab.Never, jvms{over: topology.Cluster, readMode: readMaster}),
		a4("v3", redisson, "a replica has lost its master", lab.Sometimes, jvms{over: topology.MasterSlave, lost: true}),
		a4("v4", redisson, "its data on master-slave", lab.Sometimes, jvms{over: topology.MasterSlave}),
	},
})

// behind is by how much the replicas are behind their master, scaled. On loopback it would be a fraction of a millisecond. Redisson waits
// for the replicas for a second at most (slavesSyncTimeout), which is far more on every machine.
const behind = 3 * time.Millisecond

var replicaReads = lab.Count.Of("reads that replicas answered")

// replicated is a topology whose replicas are behind.
type replicated struct {
	*lab.Trial
	*servers.Topology
	master   *servers.Node // of the counter
	replicas []*servers.Node
	stale    bool // the instances read the counter from them
}

// startReplicated starts Redis, sets the counter to 0 on each node that has it, and delays the replication.
func startReplicated(ctx context.Context, t *lab.Trial, over topology.Kind, stale bool) replicated {
	x, by := replicated{Trial: t, stale: stale}, t.Scaled(behind)
	var err error
	x.Topology, err = t.Stack.ProxiedTopology(ctx, string(over), t.Real)
	t.Must(err)
	t.Must(clients.Connect(ctx, t, x.Topology).Set(ctx, pview.Key, 0, 0).Err())
	x.master, err = x.MasterOf(ctx, pview.Key)
	t.Must(err)
	x.replicas, err = x.ReplicasOf(ctx, x.master)
	t.Must(err)
	clients.AwaitReplication(ctx, t, x.master, x.replicas)
	proof, err := x.master.DelayReplicas(ctx, by, "probe:{"+pview.Key+"}", x.replicas...)
	t.Must(err)
	t.Fault(x.master.Name, fmt.Sprintf("its replicas are %s behind", by), proof)
	return x
}

// views sends the page views to two instances. The balancer itself answers for the counter, from the master.
func (x replicated) views(ctx context.Context, version string, instances ...*servers.Instance) {
	b, err := x.Stack.Balance("127.0.0.1:0", instances...)
	x.Must(err)
	conn := clients.Connect(ctx, x.Trial, x.Topology)
	counter := pview.NewCounter(conn, nil)
	b.Handle("/pview", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			services.Reply(w, struct{}{}, conn.Set(r.Context(), pview.Key, 0, 0).Err())
			return
		}
		value, err := counter.Get(r.Context())
		services.Reply(w, map[string]int64{"value": value}, err)
	}))
	before := x.reads(ctx)
	services.Service{Version: version}.RecordViews(ctx, x.Trial, burst.Target{URL: b.URL})
	read := x.reads(ctx) - before
	x.Measure("replicas", read, replicaReads)
	if x.stale && read < versions.ArticleUsers/2 || !x.stale && read > 0 { // a client asks the master when a replica is slow
		x.Must(fmt.Errorf("replicas have answered %d reads of %d, and the instances read from replicas: %t",
			read, versions.ArticleUsers, x.stale))
	}
}

// reads is how often clients have read from the replicas.
func (x replicated) reads(ctx context.Context) (n int64) {
	for _, replica := range x.replicas {
		x.Must(replica.WithClient(func(c *redis.Client) error { n += clients.Requests(ctx, x.Trial, c, "get"); return nil }))
	}
	return n
}

// ours is two instances with v3's lock. They read the counter from its master, or from a replica.
func ours(name string, over topology.Kind, replica bool) lab.Variant {
	v := lab.Variant{Name: "v3, " + name, Fault: true, Slow: over != topology.MasterSlave, Run: func(ctx context.Context, t *lab.Trial) {
		x := startReplicated(ctx, t, over, replica)
		x.views(ctx, "v3", x.instance(ctx, "instance-1"), x.instance(ctx, "instance-2"))
	}}
	if replica {
		v.Expect = lab.Sometimes
	}
	return v
}

// instance starts an instance of ours. Its lock is asked for by a connection of its own.
func (x replicated) instance(ctx context.Context, name string) *servers.Instance {
	opened := clients.OpenTopology(ctx, x.Trial, x.Topology)
	lock := clients.RedisLock(x.Trial, name, x.Tap(opened.Master), clients.LongLease).Lock
	counter := pview.NewCounter(opened.Master, opened.Replica)
	s := &service{name: name, conn: opened.Master, lock: lockstrategy.Guard{Strategy: lock, Wait: clients.LongLease}}
	s.read, s.from = counter.Get, "from the master"
	if x.stale {
		s.read, s.from = counter.GetStale, "from a replica"
	}
	server := httptest.NewServer(http.HandlerFunc(s.answer))
	x.Cleanup(func() error { server.Close(); return nil })
	return &servers.Instance{URL: server.URL}
}

// service adds one to the counter under a lock, and answers with what it did when.
type service struct {
	name string
	conn redis.UniversalClient
	lock pview.Locker
	read func(context.Context) (int64, error)
	from string // where it reads
}

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	view := burst.View{Write: burst.Write{Instance: s.name}}
	did := func(kind history.Kind, key string, value int64, text string) {
		view.Steps = append(view.Steps, burst.NewStep(kind, key, value, text))
	}
	err := s.lock.Do(r.Context(), pview.LockKey, func(ctx context.Context, token uint64) error {
		view.Fence = token
		did(history.Grant, pview.LockKey, 0, "")
		value, err := s.read(ctx)
		if err != nil {
			return err
		}
		did(history.Read, pview.Key, value, s.from)
		view.Value = value + 1
		if err := s.conn.Set(ctx, pview.Key, view.Value, 0).Err(); err != nil {
			return err
		}
		did(history.Write, pview.Key, view.Value, "")
		did(history.Release, pview.LockKey, 0, "")
		return nil
	})
	services.Reply(w, view, err)
}
