package faults

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

var F05 = Experiments.Add(lab.Experiment{
	ID:       "F05-redlock-minority",
	Articles: lab.Articles{"A2", "A4"},
	Claim:    "RedLock grants the lock while two of its five nodes are dead or hang, and refuses it in time with three such nodes.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 20 * time.Second},
	Check:    clients.Any(history.Counter, failovers.Available(5), slow),
	Variants: []lab.Variant{
		{Name: "none down", Run: down(0)},
		{Name: "one down", Fault: true, Run: down(1)},
		{Name: "two down", Fault: true, Run: down(2)},
		{Name: "three down: refused", Fault: true, Run: down(3)},
		{Name: "two hang, one client at a time", Fault: true, Run: hanging(2, false)},
		{Name: "two hang, two clients compete", Fault: true, Trials: 1, Run: hanging(2, true)},
		{Name: "three hang: refused", Fault: true, Trials: 1, Run: hanging(3, true)},
		{Name: "two hang, answers take 20 ms", Fault: true, Run: alone(0, true)},
		{Name: "in sequence, 50 ms for each node, two hang", Fault: true, Expect: lab.Sometimes, Run: alone(50*time.Millisecond, false)},
		{Name: "in sequence, 5 ms for each node, two hang", Fault: true, Expect: lab.Sometimes, Run: alone(5*time.Millisecond, false)},
		{
			Name: "in sequence, 5 ms for each node, two hang, answers take 20 ms", Fault: true, Expect: lab.Sometimes,
			Run: alone(5*time.Millisecond, true),
		},
	},
})

// down kills n of five nodes before A requests the lock.
func down(n int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		q := fiveNodes(ctx, t)
		a := q.NewClient(ctx, "A", lockstrategy.DefaultLease)
		victims := t.Rand.Perm(len(q.Nodes))[:n]
		for _, v := range victims {
			clients.Kill(t, q.Nodes[v])
		}
		ctx, cancel := context.WithTimeout(ctx, t.Scaled(lockstrategy.DefaultLease))
		defer cancel()
		r := clients.NewResource(t, false)
		a.TryUpdate(ctx, r)
		if n <= 2 {
			return
		}
		back := q.Nodes[victims[0]]
		proof, err := back.Restart(ctx)
		t.Must(err)
		t.Record(history.Event{Timeline: back.Name, Kind: history.Heal, Text: "runs again", Proof: proof})
		a.TryUpdate(ctx, r)
	}
}

const tries = 10 // of each client while nodes hang

var (
	nodeTimeout   = lab.Milliseconds.Of("that a client waits for one node") // a setting, recorded for the check
	longestAnswer = lab.Microseconds.Of("until a client had an answer, at most")
)

// fiveNodes starts the nodes of v4's clients.
func fiveNodes(ctx context.Context, t *lab.Trial) *failovers.Quorum {
	q := failovers.StartQuorum(ctx, t, 5)
	t.Measure("lab", q.NodeTimeout().Milliseconds(), nodeTimeout)
	return q
}

// hanging stops n of five nodes. Then two clients request the lock again and again, in turn or simultaneously.
func hanging(n int, compete bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		q := fiveNodes(ctx, t)
		both := []*clients.Client{q.NewClient(ctx, "A", lockstrategy.DefaultLease), q.NewClient(ctx, "B", lockstrategy.DefaultLease)}
		for _, v := range t.Rand.Perm(len(q.Nodes))[:n] {
			hang(ctx, t, q.Nodes[v])
		}
		ctx, cancel := context.WithTimeout(ctx, t.Scaled(lockstrategy.DefaultLease))
		defer cancel()
		r := clients.NewResource(t, false)
		if compete {
			t.GoEach(len(both), func(i int) {
				for range tries {
					both[i].TryUpdate(ctx, r)
				}
			})()
		} else {
			for i := range len(both) * tries {
				both[i%len(both)].TryUpdate(ctx, r)
			}
		}
		var longest time.Duration
		for _, answer := range answers(t.Events()) {
			longest = max(longest, answer.took())
		}
		t.Measure("lab", longest.Microseconds(), longestAnswer)
	}
}

// hang stops a node from running until the trial is over.
func hang(ctx context.Context, t *lab.Trial, n *servers.Node) {
	const silence = 100 * time.Millisecond
	t.Must(n.Pause())
	t.Cleanup(func() error { n.Resume(); return nil }) // before the clients close, which would wait for it
	probe := redis.NewClient(clients.OneAttempt(n.Addr))
	defer probe.Close()
	short, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	if err := probe.Ping(short).Err(); err == nil {
		t.Must(fmt.Errorf("%s answers, although it was stopped", n.Name))
	}
	t.Break(n.Name, failovers.Hangs, fmt.Sprintf("it was stopped, and answers no PING within %s", silence))
}

const (
	few          = 5                     // requests: each one in sequence waits for two nodes that hang, and so does its release
	answersTake  = 20 * time.Millisecond // of a node that is far away, or busy
	articleLease = 10 * time.Second      // A4's
)

var (
	medianAnswer = lab.Microseconds.Of("until a request was granted or refused, median")
	granted5     = lab.Count.Of("requests that were granted, of 5")
	keysKept     = lab.Count.Of("nodes that keep the key of a refused request")
)

// alone is one client that requests the lock few times while two of five nodes hang. It is v4, or it asks the nodes in sequence, and waits
// for each of them for inTurn. With late set, the others answer after answersTake.
func alone(inTurn time.Duration, late bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		q := failovers.StartQuorum(ctx, t, 5)
		proxies, addrs := q.Proxies("A")
		nodes := q.Connect(ctx, addrs)
		timeout := cmp.Or(inTurn, q.NodeTimeout())
		var a *clients.Client
		if inTurn > 0 {
			a = inSequence(t, nodes, timeout)
		} else {
			a = q.ClientOf("A", nodes, articleLease, timeout)
		}
		t.Measure("lab", timeout.Milliseconds(), nodeTimeout)
		random := t.Rand.Perm(len(q.Nodes))
		for _, v := range random[:2] {
			hang(ctx, t, q.Nodes[v])
		}
		var others []*servers.Node
		for _, v := range random[2:] {
			others = append(others, q.Nodes[v])
			if late {
				delay(ctx, t, proxies[v])
			}
		}
		r := clients.NewResource(t, false)
		for range few {
			a.TryUpdate(ctx, r)
		}
		measureAlone(ctx, t, others)
	}
}

// delay lets a node's answers take answersTake.
func delay(ctx context.Context, t *lab.Trial, p *servers.Proxy) {
	p.Delay(faultproxy.Latency(0, answersTake))
	asked := time.Now()
	t.Must(clients.Dial(t, p.Addr).Ping(ctx).Err())
	took := time.Since(asked)
	if took < answersTake {
		t.Must(fmt.Errorf("%s: a PING was answered after %s", p.Name, took))
	}
	t.Fault(p.Name, fmt.Sprintf("answers take %s", answersTake), fmt.Sprintf("a PING was answered after %d ms", took.Milliseconds()))
}

// measureAlone measures what the client was told, and which of the nodes that answer still have a key although it was refused.
func measureAlone(ctx context.Context, t *lab.Trial, nodes []*servers.Node) {
	var took []time.Duration
	granted, kept := 0, 0
	for _, a := range answers(t.Events()) {
		if a.told.Kind == history.Grant {
			granted++
		}
		if a.told.Kind != history.Released {
			took = append(took, a.took())
		}
	}
	slices.Sort(took)
	t.Measure("lab", took[len(took)/2].Microseconds(), medianAnswer)
	t.Measure("lab", int64(granted), granted5)
	if granted > 0 {
		return
	}
	for _, node := range nodes {
		t.Must(node.WithClient(func(c *redis.Client) error {
			n, err := c.Exists(ctx, clients.NodeKey).Result()
			kept += int(n)
			return err
		}))
	}
	t.Measure("lab", int64(kept), keysKept)
}

// inSequence is A, a client of RedLock as A2 and A4 describe it. It asks the nodes one after another, and waits for each for timeout at
// most. Without a majority it releases on all nodes, once.
func inSequence(t *lab.Trial, nodes []redis.UniversalClient, timeout time.Duration) *clients.Client {
	name, value := []string{clients.NodeKey}, ""
	each := func(ask func(ctx context.Context, node redis.UniversalClient)) {
		for _, node := range nodes {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			ask(ctx, node)
			cancel()
		}
	}
	release := func() {
		each(func(ctx context.Context, node redis.UniversalClient) {
			node.Eval(ctx, clients.CompareAndDelete, name, value)
		})
	}
	try := func(context.Context, string) (bool, error) {
		asked, granted := time.Now(), 0
		value = rand.Text() // of this try: a late release must not delete the key of the next one
		each(func(ctx context.Context, node redis.UniversalClient) {
			if ok, err := node.SetNX(ctx, clients.NodeKey, value, articleLease).Result(); ok && err == nil {
				granted++
			}
		})
		if granted > len(nodes)/2 && time.Since(asked) < articleLease {
			return true, nil
		}
		release()
		return false, fmt.Errorf("%d of %d nodes granted it", granted, len(nodes))
	}
	return clients.NewPolling(t, "A", clients.Polling{
		Try:     try,
		Release: func(context.Context, string) (bool, error) { release(); return true, nil },
		Pause:   clients.Spin, Lease: articleLease,
	})
}

// answer is what a client was told of its request, or of its release.
type answer struct {
	asked, told history.Event
	contended   bool // another client had requested the lock, and not released it
}

func (a answer) took() time.Duration { return a.told.At - a.asked.At }

// answers reads them from a history.
func answers(trial []history.Event) (all []answer) {
	open := make(map[string]answer) // by owner
	for _, e := range trial {
		a := open[e.Owner]
		switch e.Kind {
		case history.Request:
			for owner, other := range open {
				other.contended = true
				open[owner] = other
			}
			open[e.Owner] = answer{asked: e, contended: len(open) > 0}
		case history.Release:
			a.asked = e
			open[e.Owner] = a
		case history.Grant, history.Refuse, history.Released:
			a.told = e
			all = append(all, a)
			if e.Kind != history.Grant {
				delete(open, e.Owner)
			}
		}
	}
	return all
}

// slow finds clients that waited for a node that hangs although a majority answers. It also finds clients that were refused too late, as
// after a wait for three such nodes in sequence. Two clients that compete may share the nodes between them: no time is promised to those.
func slow(trial []history.Event) (found []history.Violation) {
	timeout := time.Duration(0) // for a node
	for _, e := range trial {
		if nodeTimeout.In(e) {
			timeout = time.Duration(e.Value) * time.Millisecond
		}
	}
	for _, a := range answers(trial) {
		bound := timeout
		if a.told.Kind == history.Refuse {
			bound = 3 * timeout
		} else if a.contended {
			continue
		}
		if took := a.took(); took >= bound {
			found = append(found, history.Violation{
				What:   fmt.Sprintf("%s was told (%s) after %d ms, and not within %s", a.told.Timeline, a.told.Kind, took.Milliseconds(), bound),
				Events: []int{a.asked.Seq, a.told.Seq},
			})
		}
	}
	return found
}
