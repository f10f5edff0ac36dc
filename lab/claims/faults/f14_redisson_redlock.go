package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

var F14 = Experiments.Add(lab.Experiment{
	ID:       "F14-redisson-redlock",
	Articles: lab.Articles{"A2", "A4"},
	Claim: `A4's RedissonRedLock waits seconds for nodes that hang, and its lock() was not granted in 20 s. The RLock that takes its place
		refuses a lock that no replica has, and is lost when one replica has it and another is promoted.`,
	Level:    lab.Advanced,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer, lab.ArticlesJava}, Slow: true, Takes: 120 * time.Second, Trials: 1},
	Check:    clients.Any(history.Counter, tooLate, clients.Noted(noAnswer), clients.Noted(unreplicated)),
	Variants: []lab.Variant{
		{Name: "v4, five nodes alive", Run: v4WhileHanging(0)},
		{Name: "v4, the first two hang", Fault: true, Run: v4WhileHanging(2)},
		{Name: "RedissonRedLock 4.7.0, five nodes alive", Run: hangs{method: "lock"}.redLock},
		{
			Name: "RedissonRedLock 4.7.0, tryLock, the last two hang", Expect: lab.Sometimes, Fault: true,
			Run: hangs{method: "tryLock", nodes: []int{4, 5}}.redLock,
		},
		{
			Name: "RedissonRedLock 4.7.0, tryLock, the first two hang", Expect: lab.Sometimes, Fault: true,
			Run: hangs{method: "tryLock", nodes: []int{1, 2}}.redLock,
		},
		{
			Name: "RedissonRedLock 3.14.0, tryLock, the first two hang", Expect: lab.Sometimes, Fault: true,
			Run: hangs{redisson: servers.RedissonA4, method: "tryLock", nodes: []int{1, 2}}.redLock,
		},
		{
			Name: "RedissonRedLock 4.7.0, lock, the first two hang", Expect: lab.Sometimes, Fault: true,
			Run: hangs{method: "lock", nodes: []int{1, 2}}.redLock,
		},
		{
			Name: "RedissonRedLock 3.14.0, lock, the first two hang", Expect: lab.Sometimes, Fault: true,
			Run: hangs{redisson: servers.RedissonA4, method: "lock", nodes: []int{1, 2}}.redLock,
		},
		{
			Name: "RedissonRedLock 4.7.0, lock, the first two hang, timeout 50 ms", Fault: true,
			Run: hangs{method: "lock", nodes: []int{1, 2}, timeout: mostForNode}.redLock,
		},
		{Name: "RedissonRedLock 4.7.0, a node restarts empty", Fault: true, Run: redLockAmnesia(1)},
		{Name: "RedissonRedLock 4.7.0, three nodes restart empty", Expect: lab.Sometimes, Fault: true, Run: redLockAmnesia(3)},
		{Name: "RLock 4.7.0, killed after replication", Fault: true, Run: againstLoss(rLockReplicated)},
		{Name: "RLock 4.7.0, replication cut: refused", Fault: true, Run: againstLoss(rLockUnconfirmed)},
		{Name: "RLock 4.7.0, another replica is promoted", Expect: lab.Sometimes, Fault: true, Run: againstLoss(rLockByOne)},
	},
})

const (
	mostForNode = 50 * time.Millisecond // A4: a client waits 5 to 50 ms for one node
	longEnough  = 20 * time.Second      // 4.7.0's tryLock() takes 12 s in the same situation, whatever the machine
)

var (
	answerBound = lab.Milliseconds.Of("in which a client must be told: ten times what the article gives a node") // a setting, for the check
	noAnswer    = history.Mark{Name: "the client has not been answered, although three of five nodes live"}
)

// bounded records the bound: five nodes are asked, and five are released, at the article's pace.
func bounded(t *lab.Trial) { t.Measure("lab", t.Scaled(10*mostForNode).Milliseconds(), answerBound) }

// tooLate finds answers that came later than the bound, where there is one.
func tooLate(trial []history.Event) (found []history.Violation) {
	bound, set := clients.Measured(trial, "lab", answerBound)
	if !set {
		return nil
	}
	for _, a := range answers(trial) {
		if took := a.took().Milliseconds(); a.told.Kind != history.Released && took > bound.Value {
			what := fmt.Sprintf("%s was told (%s) after %d ms, and not within %d ms", a.told.Timeline, a.told.Kind, took, bound.Value)
			found = append(found, history.Violation{What: what, Events: []int{a.asked.Seq, a.told.Seq}})
		}
	}
	return found
}

// v4WhileHanging is v4's client while the first n nodes hang.
func v4WhileHanging(n int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		q := failovers.StartQuorum(ctx, t, 5)
		bounded(t)
		a := q.NewClient(ctx, "A", lockstrategy.DefaultLease)
		for _, node := range q.Nodes[:n] {
			hang(ctx, t, node)
		}
		r := clients.NewResource(t, false)
		for range few {
			a.TryUpdate(ctx, r)
		}
		measureAlone(ctx, t, nil)
	}
}

// launch starts a version of Redisson in a JVM, and connects it. Its first acquire is slow, and is not recorded: classes are loaded.
func launch(ctx context.Context, t *lab.Trial, name, redisson string, addrs []string, args ...string) *clients.Program {
	argv, err := servers.ArticlesCommand(redisson, "Locks", args...)
	t.Must(err)
	p, _, err := clients.Launch(ctx, t, name, func(process string) (*servers.Dialogue, error) { return t.Stack.Program(process, argv...) })
	t.Must(err)
	_, err = p.Connect(ctx, addrs, lockstrategy.DefaultLease)
	t.Must(err)
	p.Quiet.Store(true)
	h, err := p.Begin("lock:warm", clients.LongLease)(ctx)
	t.Must(err)
	t.Must(h.TryRelease(ctx))
	p.Quiet.Store(false)
	return p
}

// hangs is A4's RedLock while some of its nodes hang.
type hangs struct {
	redisson string        // the version; empty: [servers.Redisson]
	method   string        // lock or tryLock
	nodes    []int         // that hang, from 1, in the order in which the client asks them
	timeout  time.Duration // of a command; 0: Redisson's default
}

func (x hangs) redLock(ctx context.Context, t *lab.Trial) {
	q := failovers.StartQuorum(ctx, t, 5)
	bounded(t)
	args := []string{"redlock", x.method}
	if x.timeout > 0 {
		args = append(args, strconv.FormatInt(t.Scaled(x.timeout).Milliseconds(), 10))
	}
	a := launch(ctx, t, "A", cmp.Or(x.redisson, servers.Redisson), servers.Addrs(q.Nodes), args...)
	for _, n := range x.nodes {
		hang(ctx, t, q.Nodes[n-1])
	}
	answered := a.Begin(clients.LockKey, longEnough)
	enough, cancel := context.WithTimeout(ctx, longEnough)
	defer cancel()
	h, err := answered(enough)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.Mark("A", noAnswer)
		return
	}
	t.Must(err)
	t.Measure("lab", h.Granted.Sub(h.Asked).Microseconds(), medianAnswer)
	clients.NewResource(t, false).Add(h)
}

// redLockAmnesia restarts so many nodes of A's lock, empty, before B requests it. A has it on all five.
func redLockAmnesia(n int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		q, r := failovers.StartQuorum(ctx, t, 5), clients.NewResource(t, false)
		first := launch(ctx, t, "A", servers.Redisson, servers.Addrs(q.Nodes), "redlock", "tryLock")
		second := launch(ctx, t, "B", servers.Redisson, servers.Addrs(q.Nodes), "redlock", "tryLock")
		a, err := first.Begin(clients.LockKey, 0)(ctx)
		t.Must(err)
		value := r.Read(a)
		for _, node := range q.Nodes[:n] {
			clients.Restart(ctx, t, node)
		}
		b, err := second.Begin(clients.LockKey, 0)(ctx)
		if err == nil {
			r.Add(b)
		} else if !errors.Is(err, clients.ErrRefused) {
			t.Must(err)
		}
		r.Write(a, value+1)
	}
}

// rLock is A with Redisson's RLock over a master and its replicas.
func rLock(ctx context.Context, x *failovers.Replicated) *clients.Program {
	return launch(ctx, x.Trial, "A", servers.Redisson, x.Servers.Addrs, "rlock", "lock")
}

// rLockReplicated kills the master when A has the lock.
func rLockReplicated(ctx context.Context, x *failovers.Replicated) {
	holdOverFailure(ctx, x, rLock(ctx, x))
	clients.MustRefuse(x.Trial, "B")
}

// rLockUnconfirmed lets A request a lock that no replica receives. Redisson throws, and B is alone.
func rLockUnconfirmed(ctx context.Context, x *failovers.Replicated) {
	a := rLock(ctx, x)
	x.CutReplication(ctx, x.Replicas...)
	asked := x.Now()
	_, err := a.Begin(clients.LockKey, clients.LongLease)(ctx)
	if err == nil {
		x.Mark(x.Master.Name, unreplicated)
	} else if !strings.Contains(err.Error(), "NoSyncedSlavesException") {
		x.Must(err)
	}
	x.Measure("A", (x.Now() - asked).Milliseconds(), lab.Milliseconds.Of("until A was told that no replica has its lock"))
	x.FailOver(ctx)
	x.NewClient(ctx, "B", clients.LongLease).Update(ctx, clients.NewResource(x.Trial, false))
}

// rLockByOne lets the replica that confirmed the lock die with the master.
func rLockByOne(ctx context.Context, x *failovers.Replicated) {
	a := rLock(ctx, x)
	x.CutReplication(ctx, x.Replicas[1:]...)
	holdOverFailure(ctx, x, a, x.Replicas[0])
}

// holdOverFailure lets A take the lock and read. Some replicas are killed with the master, and B requests the lock at another one: our
// client, whose lock is the same. Then A writes.
func holdOverFailure(ctx context.Context, x *failovers.Replicated, a *clients.Program, dead ...*servers.Node) {
	r := clients.NewResource(x.Trial, false)
	h, err := a.Begin(clients.LockKey, clients.LongLease)(ctx)
	x.Must(err)
	value := r.Read(h)
	for _, n := range dead {
		clients.Kill(x.Trial, n)
	}
	x.Replicas = slices.DeleteFunc(slices.Clone(x.Replicas), func(n *servers.Node) bool { return slices.Contains(dead, n) })
	x.FailOver(ctx)
	x.NewClient(ctx, "B", clients.LongLease).UpdateOnce(ctx, r)
	r.Write(h, value+1)
}
