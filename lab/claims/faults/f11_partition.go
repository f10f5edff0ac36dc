package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// partitionLease is renewed until the proxy drops, and then has to end.
const partitionLease = time.Second

var F11 = Experiments.Add(lab.Experiment{
	ID:       "F11-partition",
	Articles: lab.Articles{"A0", "A1", "A2"},
	Claim:    "A holder that is cut off from the server stops in time: its lease's context ends before the server frees the key.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Docker: 180 * time.Second, Alone: true, Takes: 10 * time.Second},
	Check:    clients.Any(history.Counter, reliesTooLong),
	Variants: []lab.Variant{
		{Name: "no partition", Run: partition(0, true, false)},
		{Name: "cut off", Fault: true, Run: partition(faultproxy.Both, true, false)},
		{Name: "replies are lost", Fault: true, Run: partition(faultproxy.ToClient, true, false)},
		{Name: "cut off, and A does not look", Expect: lab.Sometimes, Fault: true, Run: partition(faultproxy.Both, false, false)},
		{Name: "cut off, A does not look, the token is checked", Fault: true, Run: partition(faultproxy.Both, false, true)},
	},
})

// partition cuts A off (not at all: 0) while it holds the lock. It looks at its lease before it writes, or does not.
func partition(d faultproxy.Direction, looks, checks bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		servers, err := t.Stack.ProxiedTopology(ctx, "single", t.Real)
		t.Must(err)
		node, lease := servers.Nodes[0], t.Scaled(partitionLease)
		r := clients.NewResource(t, checks)
		a := clients.RedisLock(t, "A", clients.Connect(ctx, t, servers), lease)
		b := clients.RedisLock(t, "B", clients.Connect(ctx, t, servers.At(node.Addr)), lease) // past the proxy
		h := a.Acquire(ctx)
		value := r.Read(h)
		h.AwaitConfirmation(ctx, h.Lease.Until()) // otherwise that request would block the connection on which A renews
		if d == 0 {
			r.Write(h, value+1)
			h.Release(ctx)
			b.Update(ctx, r)
			return
		}
		h.Watch(ctx)
		drop(ctx, t, node.Proxy, d)
		if d == faultproxy.ToClient {
			awaitRenewal(ctx, t, node)
		}
		t.Must(measureMargin(ctx, t, h, node))
		measured := measureTimer(t, h.Lease.Until())
		b.Update(ctx, r) // when the server has freed the lock
		if !looks || h.Relies() {
			r.Write(h, value+1)
		}
		t.Must(h.AwaitLoss(ctx))
		measured()
		t.Must(learnedInTime(t.Events()))
	}
}

// drop lets a proxy drop what is sent in a direction. The proof is a connection that leads nowhere.
func drop(ctx context.Context, t *lab.Trial, p *servers.Proxy, d faultproxy.Direction) {
	before := p.Dropped()
	p.Drop(d)
	t.Cleanup(func() error { p.Mend(); return nil })
	probe := redis.NewClient(clients.OneAttempt(p.Addr))
	probing, stop := context.WithCancel(ctx)
	defer probe.Close()
	defer stop()
	t.Go(func() { _ = probe.Ping(probing).Err() }) // no reply will come
	err := servers.Until(ctx, func(context.Context) error {
		if p.Dropped().Bytes == before.Bytes {
			return errors.New("nothing was dropped")
		}
		return nil
	})
	if err != nil {
		t.Must(fmt.Errorf("drop at %s: %w", p.Name, err))
	}
	lost := p.Dropped().Bytes - before.Bytes
	t.Fault(p.Name, "drops "+directions[d], fmt.Sprintf("a new connection led nowhere, and %d bytes were dropped", lost))
}

var directions = map[faultproxy.Direction]string{
	faultproxy.Both: "both directions", faultproxy.ToClient: "what is sent to the client",
}

// awaitRenewal waits until the key has more of its life left than a moment before: its holder's requests arrive.
func awaitRenewal(ctx context.Context, t *lab.Trial, n *servers.Node) {
	before := time.Duration(0)
	t.Must(n.WithClient(func(c *redis.Client) error {
		return servers.Until(ctx, func(ctx context.Context) error {
			left, err := c.PTTL(ctx, clients.LockKey).Result()
			switch {
			case err != nil:
				return err
			case left > before && before > 0:
				t.Note(n.Name, fmt.Sprintf("a renewal has arrived: the key had %s to live, and has %s", before, left))
				return nil
			case left <= 0:
				return servers.Permanent{Err: errors.New("the key's life has ended, and no renewal was seen to arrive: the machine was busy")}
			}
			before = left
			return errors.New("no renewal has arrived")
		})
	}))
}

// keyOutlives is what measureMargin measures.
var keyOutlives = lab.Microseconds.Of(
	"from the end by the holder's clock until the server frees the key, at least; below 0, at most")

// measureMargin compares until when a holder relies on its lease with until when the server keeps the key. The server says for
// how many whole milliseconds it will, at a moment between question and reply. So there is an earliest end and a latest one,
// and of several replies the fastest is the most exact. Where the holder's end is between the two, nothing is shown.
func measureMargin(ctx context.Context, t *lab.Trial, h *clients.LocalHolder, n *servers.Node) error {
	until := h.Lease.Until()
	earliest, latest, err := keyEnds(ctx, n)
	if err != nil {
		return err
	}
	kept := earliest
	switch {
	case until.After(latest):
		kept = latest
	case until.After(earliest):
		text := "the holder's end is in the %s in which the server frees the key: its replies were too slow to tell"
		return fmt.Errorf(text, latest.Sub(earliest))
	}
	t.Measure(h.Name, kept.Sub(until).Microseconds(), keyOutlives)
	return nil
}

// keyEnds is when a server frees the lock: between these two.
func keyEnds(ctx context.Context, n *servers.Node) (earliest, latest time.Time, err error) {
	const questions = 20
	err = n.WithClient(func(c *redis.Client) error {
		for range questions {
			asked := time.Now()
			left, err := c.PTTL(ctx, clients.LockKey).Result()
			if err != nil {
				return err
			}
			if left <= 0 {
				break
			}
			if from := asked.Add(left - time.Millisecond); from.After(earliest) {
				earliest = from
			}
			if to := time.Now().Add(left); latest.IsZero() || to.Before(latest) {
				latest = to
			}
		}
		if earliest.IsZero() {
			return errors.New("the lock was gone before it was examined: nothing is measured")
		}
		return nil
	})
	return earliest, latest, err
}

// reliesTooLong finds holders that rely on a lease for longer than the server keeps the key.
func reliesTooLong(trial []history.Event) (found []history.Violation) {
	for _, e := range trial {
		if keyOutlives.In(e) && e.Value < 0 {
			what := fmt.Sprintf("%s relies on its lease for %d µs after the server has freed the key", e.Timeline, -e.Value)
			found = append(found, history.Violation{What: what, Events: []int{e.Seq}})
		}
	}
	return found
}

// timerLate is what measureTimer measures.
var timerLate = lab.Microseconds.Of("by which a timer of the lab was late at the end of the lease")

// measureTimer measures how late a timer is that has nothing to do with the lock, at the moment at which the holder's context
// must end.
func measureTimer(t *lab.Trial, until time.Time) (measured func()) {
	return t.Go(func() {
		time.Sleep(time.Until(until))
		t.Measure("lab", time.Since(until).Microseconds(), timerLate)
	})
}

// learnedInTime is an error unless the holder's context had ended when another client was granted the lock. A holder that writes after that
// loses an update, which the check finds. Without a lost update the trial shows nothing: a busy machine delays timers that are due. When
// the lab's own timer was as late as the holder's, the process did not run. The lock could not end a context then, so the trial is no
// evidence against it.
func learnedInTime(trial []history.Event) error {
	grant, lose := beliefOverlap(trial)
	ours, _ := clients.Measured(trial, "lab", timerLate)
	by := (lose.At - grant.At).Round(time.Microsecond)
	if grant.Seq == 0 || by <= time.Duration(ours.Value)*time.Microsecond {
		return nil
	}
	return fmt.Errorf("%s's context ended %s after %s's grant: maybe a late timer on a busy machine", lose.Timeline, by, grant.Timeline)
}

// beliefOverlap finds a grant at which another client had not learned of its loss.
func beliefOverlap(trial []history.Event) (grant, lose history.Event) {
	for _, lose := range trial {
		for _, grant := range trial {
			if lose.Kind == history.Lose && grant.Kind == history.Grant && grant.Timeline != lose.Timeline && grant.Seq < lose.Seq {
				return grant, lose
			}
		}
	}
	return grant, lose
}
