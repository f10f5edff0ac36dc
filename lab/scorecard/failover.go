package scorecard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/servers"
)

// failoverLease is longer than the sentinels need to replace a master.
const failoverLease = 10 * time.Second

var failoverTook = lab.Milliseconds.Of("from the master's death until every sentinel named the new one")

// outliveFailover asks for a lease that is longer than a failover, unless the program has its own.
func (b *bench) outliveFailover() {
	if b.program.Claims.LeaseMS == 0 {
		b.lease = b.Scaled(failoverLease)
	}
}

// replacedMaster lets A hold the key while the master is killed and a replica with A's lock replaces it. B asks for the key afterwards.
func replacedMaster(killed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		b.outliveFailover()
		a, other, h := b.twoCopies(ctx)
		r := clients.NewResource(b.Trial, false)
		value := r.Read(h)
		renewed := killed && b.program.Claims.Renews
		if killed {
			master, replicas := b.masterAndReplicas(ctx)
			clients.AwaitReplication(ctx, b.Trial, master, replicas)
			clients.Kill(b.Trial, master)
			b.awaitPromotion(ctx, master, a, other)
			b.mustHaveLeft(h)
		}
		switch next := b.intrusion(ctx, other, h, renewed); {
		case next != nil && h.IsLost(): // A has stopped, so it loses no update
			b.violates(other.Name, "was granted a key that A holds: the new master does not have A's lock")
			return
		case next != nil:
			r.Add(next)
			release(ctx, next)
		}
		r.Write(h, value+1)
		release(ctx, h)
		b.freed(ctx, other, "its holder's release")
	}
}

// unreplicated cuts the replicas off before A asks for the key. When A is granted it all the same, the master dies, and A's lock with it.
func unreplicated(cut bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		b.outliveFailover()
		all := b.startAll(ctx, 2)
		b.mustServe(ctx, all)
		a, other := all[0], all[1]
		if !cut {
			release(ctx, a.holds(ctx, key))
			return
		}
		master, replicas := b.masterAndReplicas(ctx)
		proof, mend, err := master.CutReplicas(ctx, "probe:{"+key+"}", replicas...)
		b.Cleanup(mend)
		b.Must(err)
		b.Fault("replication of "+master.Name, "cut off", proof)
		a.Hit = true
		h, err := a.begin(key, b.lease/10)(ctx)
		if errors.Is(err, clients.ErrAnswer) || errors.Is(err, clients.ErrSilent) { // neither is a grant
			return
		}
		b.Must(err)
		if h == nil {
			return
		}
		r := clients.NewResource(b.Trial, false)
		value := r.Read(h)
		clients.Kill(b.Trial, master)
		b.Must(mend()) // the dead master sends nothing more
		b.awaitPromotion(ctx, master, a, other)
		b.mustHaveLeft(h)
		switch next := b.intrusion(ctx, other, h, false); {
		case next == nil:
			b.Must(errors.New("the next copy was refused after the failover, although the replicas had been cut off: nothing is shown"))
		case h.IsLost(): // A has stopped, so it loses no update
			b.violates(h.Name, "was granted the key, although no replica had received its lock, and lost it with the master")
		default:
			r.Add(next)
			r.Write(h, value+1)
		}
	}
}

// masterAndReplicas are the master of the key, and the nodes that copy it.
func (b *bench) masterAndReplicas(ctx context.Context) (master *servers.Node, replicas []*servers.Node) {
	master, err := b.servers.Topology.MasterOf(ctx, key)
	b.Must(err)
	replicas, err = b.servers.Topology.ReplicasOf(ctx, master)
	b.Must(err)
	if len(replicas) == 0 {
		b.Must(fmt.Errorf("%s has no replica", master.Name))
	}
	return master, replicas
}

// awaitPromotion waits until a replica has replaced a master that was killed. The copies have lost their connections to that.
func (b *bench) awaitPromotion(ctx context.Context, killed *servers.Node, copies ...*process) {
	began := time.Now()
	for _, p := range copies {
		p.Hit = true
	}
	promoted, err := b.servers.Topology.AwaitPromotion(ctx, key, killed)
	b.Must(err)
	b.Measure("lab", time.Since(began).Milliseconds(), failoverTook)
	b.Note(promoted.Name, "every sentinel names it as the master")
}

// mustHaveLeft ends the trial when less than a third of A's lease may be left: then B may be granted the key for a good reason.
func (b *bench) mustHaveLeft(h *holder) {
	if h.MayHaveEnded(time.Now().Add(b.lease / 3)) {
		b.Must(fmt.Errorf("the failover took so long that A's lease of %s may end, so nothing is shown; run it again", b.lease))
	}
}

// intrusion lets a copy ask for a key that A holds until it is refused, and of a lock that is renewed until A's first lease is over. It
// returns a grant, which is one too many. An error is no answer: the copy may have lost its connection.
func (b *bench) intrusion(ctx context.Context, p *process, h *holder, renewed bool) *holder {
	for refused := false; ; pause(ctx, b.lease/20) {
		next, err := p.request(key, b.lease/10)(ctx)
		switch {
		case err == nil:
			if !renewed && h.MayHaveEnded(next.Granted) {
				b.Must(errors.New("A's lease may have ended before the grant to " + p.Name + ": this machine is too slow; run it again"))
			}
			return next
		case errors.Is(err, clients.ErrRefused):
			refused = true
		case !errors.Is(err, clients.ErrAnswer):
			b.Must(err)
		}
		over := h.MayHaveEnded(time.Now().Add(-b.lease / 5))
		switch {
		case refused && (over || !renewed):
			return nil
		case over:
			b.Must(fmt.Errorf("%s was neither granted nor refused the key within A's lease: %w", p.Name, err))
		}
	}
}
