package anatomy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/lockstrategy/zklock"
	"locklab/versions"
)

var L24 = Experiments.Add(lab.Experiment{
	ID:       "L24-late-release",
	Articles: lab.Articles{"A0", "A2", "A3"},
	Claim:    "With v3 to v8 a release that arrives after its lease does not free the next holder's lock; a late DEL does.",
	Level:    lab.Medium,
	Anomaly:  "unlock by a non-owner",
	Schedule: lab.Schedule{Takes: 12 * time.Second},
	Check:    history.Counter,
	Variants: clients.Once(append([]lab.Variant{
		{Name: "DEL in time", Run: releaseOf(versions.NameRedis, sendDEL, inTime)},
		{Name: "late DEL", Expect: lab.Sometimes, Fault: true, Run: releaseOf(versions.NameRedis, sendDEL, late)},
	}, clients.LocksOverProxies("late", func(strategy string) lab.Scenario { return releaseOf(strategy, ownRelease, late) })...)),
})

// lateLease is A's. Its release must begin within it.
const lateLease = 800 * time.Millisecond

// longTimeout is that of a request: longer than servers keep the key of a short lease.
const longTimeout = clients.LongLease / 3

// releaser prepares the release of A, before its lock is granted.
type releaser func(ctx context.Context, t *lab.Trial, wires []*servers.Proxy) func(*clients.LocalHolder) error

// releaseOf lets A release, and then B acquire. A's release arrives in time, or late.
func releaseOf(strategy string, by releaser, arrives func(*lab.Trial, []*servers.Proxy, func() error) func()) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		s, r := clients.StartLock(ctx, t, strategy), clients.NewResource(t, false)
		near, wires := s.OverProxies()
		release, a := by(ctx, t, wires), lateHolder(ctx, near)
		b := s.NewClient(ctx, "B", clients.LongLease)
		h := a.Acquire(ctx, lockstrategy.LeaseFor(t.Scaled(lateLease)))
		through := arrives(t, wires, func() error { return release(h) })
		besideThird(ctx, s, b.Acquire(ctx), r, through)
	}
}

// late holds a release back until through is called.
func late(t *lab.Trial, wires []*servers.Proxy, release func() error) (through func()) {
	held, answered := holdBack(t, wires), make(chan error, 1)
	t.Go(func() { answered <- release() })
	for range wires {
		select {
		case <-held:
		case err := <-answered:
			t.Must(errors.Join(errors.New("nothing is shown: the release was not held back"), err))
		}
	}
	t.Fault("wire", "A's release is held back", fmt.Sprintf("%d proxies hang, and have a request that they do not pass on", len(wires)))
	return func() {
		for _, w := range wires {
			w.Mend()
		}
		t.Heal("wire", "A's release is let through")
		if err := <-answered; err != nil && !errors.Is(err, lockstrategy.ErrGone) {
			t.Must(fmt.Errorf("nothing is shown: the release has not reached the server: %w", err))
		}
	}
}

// besideThird lets B read, and write after something has happened. C requests the lock in between.
func besideThird(ctx context.Context, s *clients.Servers, b *clients.LocalHolder, r *clients.Resource, happens func()) {
	value := r.Read(b)
	happens()
	s.NewClient(ctx, "C", clients.LongLease).UpdateOnce(ctx, r)
	r.Write(b, value+1)
	_ = b.TryRelease(ctx) // another may have freed it
}

func ownRelease(ctx context.Context, _ *lab.Trial, _ []*servers.Proxy) func(*clients.LocalHolder) error {
	return func(h *clients.LocalHolder) error { return h.TryRelease(ctx) }
}

// sendDEL releases over a connection that is open already.
func sendDEL(ctx context.Context, t *lab.Trial, wires []*servers.Proxy) func(*clients.LocalHolder) error {
	conn := clients.Dial(t, wires[0].Addr).WithTimeout(longTimeout)
	t.Must(conn.Ping(ctx).Err())
	return func(h *clients.LocalHolder) error {
		h.Record(history.Event{Kind: history.Release, Key: h.Key})
		deleted, err := conn.Del(ctx, h.Key).Result()
		h.Record(history.Event{Kind: history.Command, Name: delReply, Value: deleted, Text: fmt.Sprintf("DEL → %d", deleted)})
		return err
	}
}

// delReply names a release by DEL, whose reply is the event's value.
const delReply = "DEL"

// inTime is for a lock whose key the release must find.
func inTime(t *lab.Trial, _ []*servers.Proxy, release func() error) (through func()) {
	t.Must(release())
	for _, e := range t.Events() {
		if e.Name == delReply && e.Value == 0 {
			t.Must(errors.New("nothing is shown: the release came after the lease had ended"))
		}
	}
	return func() {}
}

// lateHolder is A. Its release waits for an answer until long after its lease.
func lateHolder(ctx context.Context, near *clients.Servers) *clients.Client {
	if near.Strategy != versions.NameZooKeeper {
		return near.NewClient(ctx, "A", clients.LongLease, longTimeout)
	}
	z, err := zklock.New(near.Addrs, zklock.Config{
		Timing: lockstrategy.Timing{Expiry: clients.LongLease, Request: longTimeout},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &shortSession{Conn: conn, session: near.Scaled(lateLease)}, err
		},
	})
	near.Must(err)
	near.Cleanup(z.Close)
	return clients.NewClient(near.Trial, "A", z)
}

// shortSession asks for a session that is shorter than the longest wait for an answer, which the lock's own configuration refuses. The
// server may grant so little by its own configuration as well.
type shortSession struct {
	net.Conn
	session time.Duration
	greeted bool
}

func (c *shortSession) Write(p []byte) (int, error) {
	const at = 16 // the timeout is after the length, the version of the protocol, and the last transaction
	if !c.greeted {
		p = bytes.Clone(p)
		binary.BigEndian.PutUint32(p[at:], uint32(c.session.Milliseconds()))
	}
	c.greeted = true
	return c.Conn.Write(p)
}

// holdBack lets each proxy stop what is sent over it, from the next request on. held has an element for each that has such a request. The
// gets before Memcached's cas passes: it would see the next owner.
func holdBack(t *lab.Trial, wires []*servers.Proxy) (held <-chan struct{}) {
	stopped := make(chan struct{}, len(wires))
	for _, w := range wires {
		t.Cleanup(func() error { w.Mend(); return nil })
		var once sync.Once
		w.Delay(func(c faultproxy.Chunk) time.Duration {
			request := c.Direction == faultproxy.ToServer && (w.Control == nil || !w.Control(c))
			if request && !bytes.HasPrefix(c.Data, []byte("gets ")) {
				once.Do(func() {
					w.Hang()
					stopped <- struct{}{}
				})
			}
			return 0
		})
	}
	return stopped
}
