package claims

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "F05-redlock-minority",
	Title:   "RedLock without some of its nodes",
	Article: "A2, A4",
	Claim:   "RedLock grants the lock while two of its five nodes are dead or hang, and refuses it in time with three such nodes.",
	Says: `
		A majority of the nodes is enough, N/2+1 of N. With fewer there is no lock, and the client is told so. A request to a node has a
		timeout far below the lease, so a node that gives no answer delays no client for long.`,
	Lesson: experiments.Lesson{
		Question: `
			RedLock asks five nodes, and two of them give no answer. They are dead, or they hang: they accept a connection and say
			nothing. Is a client still granted the lock, and how long does it wait? And with three such nodes?`,
		Predict: `
			(a) Two silent nodes cost one timeout each time. (b) Dead nodes cost nothing, and nodes that hang cost a timeout. (c)
			Neither delays a client, as long as three nodes answer.`,
		Why: `
			(c), as long as one client asks: then two nodes that hang cost nothing. When two clients compete, one of them may wait for the
			timeout of a node (2 s). Three of five nodes are a majority, and their votes are enough. The client asks all nodes
			simultaneously and goes on when
			three have granted the lock. A dead node refuses the connection immediately, and a node that hangs is not waited for. With
			three silent nodes there is no majority. The client waits for one timeout and is told that the lock is unavailable. After
			that v4 only pings a node that hangs, so the next requests are refused without a wait.`,
		Fix: `
			Ask all nodes simultaneously, each with a timeout far below the lease. Go on when a majority has granted the lock, and
			release it on every node afterwards. Do not wait a second time for a node that gave no answer.`,
		Limits: `
			Clients that compete may share the nodes between them, so that none has a majority. Then a try may wait for a node that
			hangs. In that variant no update may be lost; its longest wait is measured and not judged. Nodes that answer slowly are not
			tried, nor nodes that lose their data.`,
		Next: `
			F06 (a node restarts empty), F07 (the clock of a node jumps), F08 (a node that is named twice), P4 (RedLock when nothing
			fails).`,
		Level: experiments.Medium,
	},
	Drawing: `
A        ├─ asks 1 2 3 4 5 ─ 1 2 3 grant it: a majority ─ read 0 ─ write 1 ┤
node 4   ✗ dead: it refuses the connection
node 5   ✗ hangs: it says nothing, and is not waited for`,
	How: `
		A is connected to five nodes. Some of them, chosen at random, are killed, and A requests the lock. When three were down, one is
		started again, and A requests it once more. In other variants nodes are stopped by SIGSTOP: they hang, which means that they
		accept connections and answer nothing. Then A and B request the lock again and again, and add one to a counter. One client at a
		time must not wait as long as the timeout of one node (2 s). With three nodes that hang, each client must be refused within
		three such
		timeouts.`,
	Takes: 14 * time.Second,
	Check: kit.Any(history.Counter, kit.Available(5), slow),
	Variants: []experiments.Variant{
		{Name: "none down", Run: down(0)},
		{Name: "one down", Fault: true, Run: down(1)},
		{Name: "two down", Fault: true, Run: down(2)},
		{Name: "three down: refused", Fault: true, Run: down(3)},
		{Name: "two hang, one client at a time", Fault: true, Run: hanging(2, false)},
		{Name: "two hang, two clients compete", Fault: true, Trials: 1, Run: hanging(2, true)},
		{Name: "three hang: refused", Fault: true, Trials: 1, Run: hanging(3, true)},
	},
})

// down kills n of five nodes before A requests the lock.
func down(n int) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		q := kit.StartQuorum(ctx, t, 5)
		a := q.NewClient(ctx, "A", lockstrategy.DefaultLease)
		victims := t.Rand.Perm(len(q.Nodes))[:n]
		for _, v := range victims {
			kit.Kill(t, q.Nodes[v])
		}
		ctx, cancel := context.WithTimeout(ctx, lockstrategy.DefaultLease)
		defer cancel()
		r := kit.NewResource(t, false)
		kit.TryUpdate(ctx, a, r)
		if n <= 2 {
			return
		}
		back := q.Nodes[victims[0]]
		proof, err := t.Stack.Restart(ctx, back)
		t.Must(err)
		t.Record(history.Event{Timeline: back.Name, Kind: history.Heal, Text: "runs again", Proof: proof})
		kit.TryUpdate(ctx, a, r)
	}
}

const (
	tries       = 10              // of each client while nodes hang
	nodeTimeout = 2 * time.Second // how long v4 waits for one node: Backends.Request, by default
	toldWithin  = 3 * nodeTimeout // a client that asks three such nodes one after the other is told too late
)

// hanging stops n of five nodes. Then two clients request the lock again and again, in turn or simultaneously.
func hanging(n int, compete bool) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		q := kit.StartQuorum(ctx, t, 5)
		a, b := q.NewClient(ctx, "A", lockstrategy.DefaultLease), q.NewClient(ctx, "B", lockstrategy.DefaultLease)
		for _, v := range t.Rand.Perm(len(q.Nodes))[:n] {
			kit.Hang(ctx, t, q.Nodes[v])
		}
		ctx, cancel := context.WithTimeout(ctx, lockstrategy.DefaultLease)
		defer cancel()
		r := kit.NewResource(t, false)
		update := func(c *kit.Client, times int) {
			for range times {
				kit.TryUpdate(ctx, c, r)
			}
		}
		if compete {
			wait := t.Go(func() { update(a, tries) })
			update(b, tries)
			wait()
		} else {
			for range tries {
				update(a, 1)
				update(b, 1)
			}
		}
		var longest time.Duration
		for _, answer := range answers(t.Events()) {
			longest = max(longest, answer.took())
		}
		t.Measure("lab", longest.Microseconds(), "µs until a client had an answer, at most")
	}
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

// slow finds clients that waited for a node that hangs although a majority answers, and clients that were refused too late. Two
// clients that compete may share the nodes between them: no time is promised to those.
func slow(trial []history.Event) (found []history.Violation) {
	for _, a := range answers(trial) {
		bound := nodeTimeout
		if a.told.Kind == history.Refuse {
			bound = toldWithin
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
