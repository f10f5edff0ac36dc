package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/versions"
)

var F06 = Experiments.Add(lab.Experiment{
	ID:       "F06-redlock-amnesia",
	Articles: lab.Articles{"A2", "A4"},
	Claim: `In RedLock a node that restarts empty lets a second majority form. One that stays down for the longest lease, or has written
		each vote to its disk, does not.`,
	Level:    lab.Advanced,
	Anomaly:  "restart with data loss",
	Schedule: lab.Schedule{Takes: 29 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat([]lab.Variant{
		{Name: "restarted when the lease has ended", Fault: true, Run: restartLater},
		{
			Name: "restarted immediately", Expect: lab.Sometimes, Strategy: "v4", Fault: true,
			Run: failovers.OnDecidingNode(clients.Restart),
		},
		{
			Name: "one Redis, restarted immediately", Expect: lab.Sometimes, Strategy: "v3", Fault: true,
			Trials: 1, Run: clients.OnSingle(restartUnnoticed),
		},
	}, clients.NaiveVariants("one Redis, restarted immediately", clients.LostAfter(clients.Restart)), appendOnly(), []lab.Variant{
		{
			Name: "database, log written at each commit", Fault: true, Trials: 1, Needs: []lab.Need{lab.MariaDB},
			Run: restartDatabase("1"),
		},
		{
			Name: "database, log written once a second", Expect: lab.Sometimes, Strategy: "v5", Fault: true,
			Needs: []lab.Need{lab.MariaDB}, Run: restartDatabase("0"),
		},
	}, disks("ZooKeeper", "v6", versions.NameZooKeeper, restartZooKeeper), disks("etcd", "v7", versions.NameEtcd, restartEtcd)),
})

// disks are a server that restarts with its disk, and the leader of three that loses it.
func disks(server, version, strategy string, restart func(n int) lab.Scenario) []lab.Variant {
	kept := lab.Variant{Fault: true, Trials: 1, Needs: clients.NeedsOf(strategy), Run: restart(1)}
	kept.Name = server + ", restarted immediately, with its disk"
	lost := kept
	lost.Name, lost.Strategy, lost.Run = server+", the leader of three loses its disk", version, restart(3)
	return []lab.Variant{kept, lost}
}

// restartUnnoticed restarts a node whose holder learns of it late.
func restartUnnoticed(ctx context.Context, t *lab.Trial, n *servers.Node) {
	t.Note(n.Proxy.Name, "does not get through: "+clients.EndProxy(ctx, t, n.Proxy))
	clients.Restart(ctx, t, n)
}

// restartZooKeeper restarts the leader of n servers, to which A and B are connected. One alone keeps its disk, and one of three loses it.
func restartZooKeeper(n int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, disk := failovers.StartZooKeeper(ctx, t, n), "with"
		node := x.Leader
		besideRestart(ctx, t, func(name string) *clients.Client { return x.NewClient(ctx, name, clients.LongLease, node) }, func() {
			if n > 1 {
				disk = "without"
				t.Must(node.LoseDisk())
			}
			proof, err := node.Restart(ctx)
			t.Must(err)
			t.Fault(node.Name, "killed and restarted, "+disk+" its disk", proof)
		})
	}
}

// restartEtcd is the same with etcd. The others do not let a server join that has lost its disk: A and B ask them.
func restartEtcd(n int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := failovers.StartEtcd(ctx, t, n)
		m := x.Leader
		besideRestart(ctx, t, func(name string) *clients.Client { return x.NewClient(ctx, name, clients.LongLease) }, func() {
			clients.Kill(t, m)
			if n == 1 {
				_, err := m.Restart(ctx)
				t.Must(err)
				return
			}
			t.Must(m.LoseDisk())
			_, refused := m.Restart(ctx)
			if refused == nil || !strings.Contains(refused.Error(), "bootstrapped") {
				t.Must(errors.Join(errors.New("the others were to refuse a server without its disk"), refused))
			}
			t.Fault(m.Name, "its disk is lost, and it cannot join again", refused.Error())
			x.FindLeader(ctx)
		})
	}
}

// restartDatabase kills MariaDB when it has committed A's lock. flush says when it writes its log: 1 at a commit, 0 once a second.
func restartDatabase(flush string) lab.Scenario {
	return clients.OnMariaDB(func(ctx context.Context, x *clients.MariaDB) {
		const unwritten = "SELECT SUM(IF(VARIABLE_NAME LIKE '%CURRENT', VARIABLE_VALUE, -VARIABLE_VALUE)) " +
			"FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ('INNODB_LSN_CURRENT', 'INNODB_LSN_FLUSHED')"
		s, a := clients.NewSuccession(x.Trial), x.NewClient(ctx, "A", clients.LongLease)
		a.Acquire(ctx).Release(ctx) // there is a table now, and a row
		x.Must(servers.Until(ctx, func(ctx context.Context) error {
			if n := x.Ask(ctx, unwritten); n > 0 {
				return fmt.Errorf("%d bytes of the log are in memory only", n)
			}
			return nil
		}))
		s.Come(ctx, a)
		clients.Kill(x.Trial, x.Server)
		_, err := x.Server.Restart(ctx)
		x.Must(err)
		s.Come(ctx, x.NewClient(ctx, "B", clients.LongLease))
		s.Finish(ctx)
		if flush == "1" {
			clients.MustRefuse(x.Trial, "B")
		}
	}, "--innodb-flush-log-at-trx-commit="+flush)
}

// besideRestart lets B request the lock that A holds, after a server was restarted.
func besideRestart(ctx context.Context, t *lab.Trial, client func(name string) *clients.Client, restart func()) {
	s := clients.NewSuccession(t)
	s.Come(ctx, client("A"))
	restart()
	s.Come(ctx, client("B"))
	s.Finish(ctx)
	clients.MustRefuse(t, "B")
}

// restartLater lets A's lease end before the node votes again. A respects its lease: it writes while it is good.
func restartLater(ctx context.Context, t *lab.Trial) {
	q := failovers.StartQuorum(ctx, t, 5)
	lease := t.Scaled(time.Second)
	a, b := q.NewClient(ctx, "A", lease, 4, 5), q.NewClient(ctx, "B", lease)
	r := clients.NewResource(t, false)
	first := a.Acquire(ctx)
	value := r.Read(first)
	q.Votes(ctx, "A")
	clients.Kill(t, q.Nodes[2])
	b.UpdateOnce(ctx, r)
	if first.Alive() {
		r.Write(first, value+1)
	}
	t.Must(first.AwaitLoss(ctx))
	clients.Restart(ctx, t, q.Nodes[2])
	again := b.Acquire(ctx)
	q.Votes(ctx, "B")
	r.Add(again)
	again.Release(ctx)
}
