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

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

var L24 = experiments.Experiment{
	ID:       "L24-late-release",
	Articles: experiments.Articles{"A0", "A2", "A3"},
	Claim:    "With v3 to v8 a release that arrives after its lease does not free the next holder's lock; a late DEL does.",
	Says: `
		In Redis the articles compare the value at the release, A2 by two commands. For the other stores that they name, they do not mention
		a late release.`,
	Lesson: experiments.Lesson{
		Question: `
			A client finishes in time and sends its release. The network delays that request until the lease has ended, and another client holds
			the lock. Now the release reaches the server. Is the second client's lock still there?`,
		Predict: `
			(a) Yes, with every lock that names its owner. (b) Only where one request compares and deletes. (c) No: the release was sent in time,
			so the server accepts it.`,
		Why: `
			(b). The client has done nothing wrong, and no check in the client can help: the request was on its way already. So the server
			must compare when it executes the release. Redis and RedLock do so in a script, a database in the WHERE of its UPDATE. etcd
			compares the revision at which the key was created. In ZooKeeper and etcd each attempt also has a name of its own, so a late
			release finds nothing. Memcached's delete compares nothing; cas stores only where the item is the one that was read. A DEL on
			its way deletes the lock of the second client. A third client enters, and one update is lost.`,
		Fix: `
			Give each attempt a value or a name of its own (L04). Let the server compare and release in one step. In Memcached, replace the
			item by one that has already expired, with the command cas. Never send delete.`,
		Limits: `
			One request is delayed, on its only way. Only the lock is protected: a write that is delayed like this needs a fencing token
			(L11). SIGSTOP delays a release as well, and looks the same to the server. v6 repeats the release over a new connection and
			reports success. After a lost answer it cannot know what has removed the node: its own delete, or the end of its session.`,
		Next: "L03-foreign-unlock has the broken releases step by step: try `app lab step L03`. L12-unanswered-acquire loses the reply to an " +
			"acquire, and L22-token-at-read delays a write.",
		Level: experiments.Medium,
	},
	Drawing: `
A       ├─ lock ─ release ─▶ · · · held back on its way · · · ▶ arrives
server  ═══════════ A's lease ══════════┤                        what does it free?
B                                        ├─ lock ─ read 0 ───────────────────────── write 1 ┤
C                                                                  requests: refused`,
	How: `
		A takes the lock with a lease that is not renewed, over a proxy before each server. The proxy holds A's release back; in Memcached
		it passes the command gets on, and holds the command cas back. B waits until the server frees the key, and reads. Then the proxy
		lets the release through, and A waits for the server's answer. Now C requests the lock once. Where the release has freed it, C and B
		write the same value. ZooKeeper's lock ends with its session, so A's session is as short as the lease. In the variants with DEL, A
		holds v3's lock and sends DEL. The control differs in one thing: its proxies hold nothing back.`,
	Anomaly:  "unlock by a non-owner",
	Schedule: experiments.Schedule{Takes: 12 * time.Second},
	Check:    history.Counter,
	Variants: clients.Once(append([]experiments.Variant{
		{Name: "DEL in time", Run: releaseOf(lockstrategy.NameRedis, sendDEL, inTime)},
		{Name: "late DEL", Expect: experiments.Sometimes, Fault: true, Run: releaseOf(lockstrategy.NameRedis, sendDEL, late)},
	}, clients.LocksOverProxies("late", func(strategy string) experiments.Scenario { return releaseOf(strategy, ownRelease, late) })...)),
}

// lateLease is A's. Its release must begin within it.
const lateLease = 800 * time.Millisecond

// longTimeout is that of a request: longer than servers keep the key of a short lease.
const longTimeout = clients.LongLease / 3

// releaser prepares the release of A, before its lock is granted.
type releaser func(ctx context.Context, t *experiments.Trial, wires []*stack.Proxy) func(*clients.Holder) error

// releaseOf lets A release, and then B acquire. A's release arrives in time, or late.
func releaseOf(strategy string, by releaser, arrives func(*experiments.Trial, []*stack.Proxy, func() error) func()) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
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
func late(t *experiments.Trial, wires []*stack.Proxy, release func() error) (through func()) {
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
func besideThird(ctx context.Context, s *clients.Servers, b *clients.Holder, r *clients.Resource, happens func()) {
	value := r.Read(b)
	happens()
	s.NewClient(ctx, "C", clients.LongLease).UpdateOnce(ctx, r)
	r.Write(b, value+1)
	_ = b.TryRelease(ctx) // another may have freed it
}

func ownRelease(ctx context.Context, _ *experiments.Trial, _ []*stack.Proxy) func(*clients.Holder) error {
	return func(h *clients.Holder) error { return h.TryRelease(ctx) }
}

// sendDEL releases over a connection that is open already.
func sendDEL(ctx context.Context, t *experiments.Trial, wires []*stack.Proxy) func(*clients.Holder) error {
	conn := redis.NewClient(clients.OneAttempt(wires[0].Addr)).WithTimeout(longTimeout)
	t.Cleanup(conn.Close)
	t.Must(conn.Ping(ctx).Err())
	return func(h *clients.Holder) error {
		h.Record(history.Event{Kind: history.Release, Key: h.Key})
		deleted, err := conn.Del(ctx, h.Key).Result()
		h.Record(history.Event{Kind: history.Command, Name: delReply, Value: deleted, Text: fmt.Sprintf("DEL → %d", deleted)})
		return err
	}
}

// delReply names a release by DEL, whose reply is the event's value.
const delReply = "DEL"

// inTime is for a lock whose key the release must find.
func inTime(t *experiments.Trial, _ []*stack.Proxy, release func() error) (through func()) {
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
	if near.Strategy != lockstrategy.NameZooKeeper {
		return near.NewClient(ctx, "A", clients.LongLease, longTimeout)
	}
	z, err := lockstrategy.NewZooKeeper(near.Addrs, lockstrategy.ZooKeeperConfig{
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
func holdBack(t *experiments.Trial, wires []*stack.Proxy) (held <-chan struct{}) {
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
