package scorecard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab/clients"
	"locklab/lab/servers"
)

// twoDown lets two of five nodes end or hang. They hang until the end of the trial.
func twoDown(how func(*bench, *servers.Node)) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		release(ctx, h)
		after := "its holder's release"
		if how != nil {
			after = "two of five servers had failed"
			for _, n := range b.servers.Nodes[:2] {
				how(b, n)
			}
		}
		b.freed(ctx, other, after)
	}
}

func killed(b *bench, n *servers.Node) { clients.Kill(b.Trial, n) }

func hanging(b *bench, n *servers.Node) {
	b.Must(n.Pause())
	b.Cleanup(func() error { n.Resume(); return nil })
	b.Fault(n.Name, "hangs", "no thread of its process runs")
}

// oneEmpty lets A hold the lock by the votes of three servers, as it cannot reach the others. One of the three restarts empty: its vote is
// free for B, which reaches all five.
func oneEmpty(restarted bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all := b.startAll(ctx, 2)
		for _, p := range all { // it connects; what it may leave behind is no vote for the key of the trial
			release(ctx, p.holds(ctx, secondKey))
		}
		a, other, r := all[0], all[1], clients.NewResource(b.Trial, false)
		a.cut(ctx, a.wires[3:]...)
		asked := time.Now()
		h := a.holds(ctx, key)
		value := r.Read(h)
		reached := func() bool { return true }
		if restarted {
			clients.Restart(ctx, b.Trial, b.servers.Nodes[2])
			reached = watchRequests(other.wires[2])
			release(ctx, other.holds(ctx, secondKey)) // B notices that a connection has ended
		}
		if time.Since(asked) > b.lease/2 {
			b.Must(errors.New("the lease of the holder may end before the end of the trial: this machine is too slow; run it again"))
		}
		switch next := other.acquire(ctx, b.lease/4); {
		case next == nil && !reached():
			b.Must(fmt.Errorf("%s has not connected again to the server that has restarted, so nothing is shown", other.Name))
		case next != nil && !h.IsLost(): // a holder that has told of its loss has stopped
			b.mustKeep(h, next.Granted)
			r.Add(next)
			release(ctx, next)
		}
		r.Write(h, value+1)
		release(ctx, h)
	}
}

// watchRequests returns what reports whether a request has passed since then.
func watchRequests(w *servers.Proxy) (sent func() bool) {
	var seen atomic.Bool
	w.Delay(func(c faultproxy.Chunk) time.Duration {
		if c.Direction == faultproxy.ToServer {
			seen.Store(true)
		}
		return 0
	})
	return seen.Load
}
