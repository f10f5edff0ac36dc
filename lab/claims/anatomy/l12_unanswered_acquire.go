package anatomy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/explore/wire"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/lockstrategy/articlelock"
)

var L12 = Experiments.Add(lab.Experiment{
	ID:       "L12-unanswered-acquire",
	Articles: lab.Articles{"A0", "A1", "A2", "A3", "A4"},
	Claim: `
		An acquire whose reply is lost leaves the key locked, unless a compensating release compares the value and deletes the key.`,
	Level:    lab.Medium,
	Anomaly:  "acquire with lost reply",
	Schedule: lab.Schedule{Takes: 15 * time.Second},
	Check:    leftBehind,
	Interleavings: []lab.Interleavings{
		{
			Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "AB", Lost: 1},
			Violation: explore.LeftUntilExpiry, Expect: lab.Sometimes,
		},
		{Lock: articlelock.SETNX, Bounds: explore.Bounds{Clients: "AB", Lost: 1}, Violation: explore.OrphanedLock, Expect: lab.Sometimes},
		{Lock: articlelock.CompensatedByScript, Bounds: explore.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: explore.LeftUntilExpiry},
		{Lock: articlelock.CompensatedByScript, Bounds: explore.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: explore.NonOwnerUnlock},
		{
			Lock: articlelock.CompensatedByDEL, Bounds: explore.Bounds{Clients: "AB", Lost: 1},
			Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes,
		},
		{Lock: explore.V3, Bounds: explore.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: explore.LeftUntilExpiry},
		{Lock: explore.V3, Bounds: explore.Bounds{Clients: "ABC", Expiry: 1, Lost: 1}, Violation: explore.NonOwnerUnlock},
	},
	Variants: append([]lab.Variant{
		{Name: "reply received", Run: overLossyWire(articlelock.Compare, "A A A A B B B B")},
		{
			Name: "lost: SETNX", Expect: lab.Sometimes, Strategy: "naive SETNX", Fault: true,
			Run: overLossyWire(articlelock.SETNX, "A? B B B B"),
		},
		{
			Name: "lost: SET NX PX", Expect: lab.Sometimes, Strategy: "SET NX PX", Fault: true,
			Run: overLossyWire(articlelock.Compare, "A? B B B B"),
		},
		{
			Name: "lost: SET NX PX, DEL", Expect: lab.Sometimes, Strategy: "SET NX PX, DEL", Fault: true,
			Run: overLossyWire(articlelock.PlainDEL, "A? B B B B"),
		},
		{Name: "lost, compensated by script", Fault: true, Run: overLossyWire(articlelock.CompensatedByScript, "A? A B B B B")},
		{
			Name: "lost, compensated by DEL", Expect: lab.Sometimes, Fault: true,
			Run: overLossyWire(articlelock.CompensatedByDEL, "A A B? B C C A C A C"),
		},
	}, clients.LocksOverProxies("lost", lostReplyOf)...),
})

// leftBehind finds locks that no client holds, with or without an expiry, and lost updates.
var leftBehind = clients.Any(history.Counter, clients.Noted(explore.OrphanedLock.Mark()), clients.Noted(explore.LeftUntilExpiry.Mark()))

// lossyWire is one Redis over a proxy that can lose a reply. The server has executed the command, and its reply has come to
// this machine; then it is dropped, and the connection closed.
type lossyWire struct {
	wire.Redis // over the proxy
	direct     *clients.Redis
	proxy      *servers.Proxy
	key        string // of the lock
}

func newLossyWire(ctx context.Context, t *lab.Trial, key string) *lossyWire {
	x := clients.StartRedis(ctx, t)
	client, proxy := clients.OverWire(t, x.Node.Addr)
	return &lossyWire{wire.Redis{Client: client}, x, proxy, key}
}

// LoseReply implements [explore.ReplyLoser]. The fault is recorded with the lock as the server has it at that moment. Without a
// lock nothing is proven.
func (w *lossyWire) LoseReply() {
	w.proxy.LoseReply(faultproxy.NoGreeting, func(reply faultproxy.Chunk) {
		proof := ""
		kind, err := w.direct.Conn.Type(context.Background(), w.key).Result()
		if err == nil && kind != "none" {
			proof = fmt.Sprintf("the reply %q had come and was not passed on; the server has %s, a %s", reply.Data, w.key, kind)
		}
		w.direct.Fault("wire", "the reply is lost, the connection closed", proof)
	})
}

// overLossyWire moves the clients of a lock over a wire that can lose a reply.
func overLossyWire(lock articlelock.Lock, moves string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		clients.MoveClients(ctx, t, newLossyWire(ctx, t, articlelock.Key), lock, moves)
	}
}

// lostReplyOf loses the reply to an acquire of one of the lab's locks, which compensates by itself. B waits for less than the lease, and
// is granted the lock.
func lostReplyOf(strategy string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		direct := clients.StartLock(ctx, t, strategy)
		near, wires := direct.OverProxies()
		a := near.NewClient(ctx, "A", clients.LongLease)
		b, r := direct.NewClient(ctx, "B", clients.LongLease), clients.NewResource(t, false)
		a.Update(ctx, r) // what is sent once has been sent: the next reply is that to the acquire
		loseReplyTo(ctx, t, a, b, wires)
		for _, w := range wires {
			w.Mend()
		}
		t.Heal("wire", "mended")
		h, err := b.TryAcquire(ctx, lockstrategy.WaitAtMost(clients.LongLease/3))
		if errors.Is(err, context.DeadlineExceeded) {
			t.Record(explore.LeftUntilExpiry.Mark().On(history.Event{Timeline: "server", Kind: history.Left, Key: b.Key}))
		}
		t.Must(err)
		r.Add(h)
		h.Release(ctx)
	}
}

// loseReplyTo lets A acquire the lock, loses the replies of the servers, and cuts A off. The proof is that they refuse B.
func loseReplyTo(ctx context.Context, t *lab.Trial, a, b *clients.Client, wires []*servers.Proxy) {
	lost := make(chan int, len(wires))
	for _, w := range wires {
		w.LoseReply(faultproxy.NoGreeting, func(reply faultproxy.Chunk) {
			lost <- len(reply.Data)
			w.Cut()
		})
	}
	if _, err := a.TryAcquire(ctx); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Must(errors.Join(errors.New("the reply to A was to be lost"), err))
	}
	proof := ""
	if _, err := b.TryAcquire(ctx, lockstrategy.TryOnce()); errors.Is(err, lockstrategy.ErrTaken) && len(lost) > 0 {
		proof = fmt.Sprintf("%d replies had come and were not passed on, the first of %d bytes; B is refused: %v", len(lost), <-lost, err)
	}
	t.Fault("wire", "the reply is lost, A is cut off", proof)
}
