package explore

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/explore/wire"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lockstrategy/articlelock"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// watched plays moves on an empty server, and finds the violations at the end. It does not use positions: it
// reads what was recorded, and the content of the lock before and after each move.
func watched(t *testing.T, server Server, client wire.Redis, lock articlelock.Lock, clients string, moves []Move) (found []Violation) {
	t.Helper()
	ctx := t.Context()
	if err := client.Client.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	recorder := history.NewRecorder()
	w := New(lock, server, time.Minute, clients, recorder.Add)
	for _, m := range moves {
		before := stored(t, client)
		expires := m.Client != "" && halved(t, client)
		if err := w.Move(ctx, m); err != nil {
			t.Fatalf("%s: %s: %v", lock.Name, Text(moves), err)
		}
		after := stored(t, client)
		switch foreign := m.Client != "" && before != "" && !strings.Contains(before, "attempt-"+m.Client); {
		case foreign && after == "":
			found = append(found, NonOwnerUnlock)
		case foreign && after != before:
			found = append(found, Overwritten)
		case foreign && expires && client.Client.PTTL(ctx, articlelock.Key).Val() > halfLease:
			found = append(found, NonOwnerRenewal)
		}
	}
	if err := w.End(ctx); err != nil {
		t.Fatal(err)
	}
	events := recorder.Events()
	for v, shown := range map[Violation][]history.Violation{
		LostUpdate:      history.Counter(events),
		OrphanedLock:    history.Noted(events, OrphanedLock.Mark()),
		LeftUntilExpiry: history.Noted(events, LeftUntilExpiry.Mark()),
		FalseRelease:    falselyReleased(lock, events),
	} {
		if len(shown) > 0 {
			found = append(found, v)
		}
	}
	return found
}

// in connects to a server in this process.
func in(t *testing.T, memory *Memory) wire.Redis {
	t.Helper()
	dial := func(context.Context, string, string) (net.Conn, error) { return memory.redis.Dial() }
	client := redis.NewClient(&redis.Options{Dialer: dial, MaxRetries: -1, DisableIdentity: true, Protocol: 2})
	t.Cleanup(func() { _ = client.Close() })
	return wire.Redis{Client: client}
}

func connected(t *testing.T, addr string) wire.Redis {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return wire.Redis{Client: client}
}

const halfLease = 30 * time.Second

// halved lets half a lease of the lock pass, and reports whether it has one.
func halved(t *testing.T, client wire.Redis) bool {
	t.Helper()
	return client.Client.PTTL(t.Context(), articlelock.Key).Val() > 0 && client.Client.PExpire(t.Context(), articlelock.Key, halfLease).Val()
}

// falselyReleased finds releases that were confirmed after the lease, or without a grant. It is for locks whose release reports that.
func falselyReleased(lock articlelock.Lock, events []history.Event) (found []history.Violation) {
	holds := make(map[string]bool)
	for _, e := range events {
		switch {
		case e.Timeline == "time":
			clear(holds)
		case e.Kind == history.Grant:
			holds[e.Owner] = true
		case e.Kind == history.Released && e.Text == "" && !holds[e.Owner] && lock.Release[len(lock.Release)-1].Then != nil:
			found = append(found, history.Violation{What: string(FalseRelease), Events: []int{e.Seq}})
		}
	}
	return found
}

// stored is the content of the lock.
func stored(t *testing.T, client wire.Redis) string {
	t.Helper()
	var text string
	var err error
	switch client.Client.Type(t.Context(), articlelock.Key).Val() {
	case "string":
		text, err = client.Client.Get(t.Context(), articlelock.Key).Result()
	case "hash":
		var fields map[string]string
		fields, err = client.Client.HGetAll(t.Context(), articlelock.Key).Result()
		for owner, count := range fields {
			text += owner + "=" + count
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// brute counts every interleaving by playing it from its beginning.
type brute struct {
	t              *testing.T
	memory         *Memory
	client         wire.Redis // of it
	lock           articlelock.Lock
	bounds         Bounds
	violation      Violation
	all, violating int
	shortest       int
}

func (b *brute) try(moves []Move) {
	b.memory.redis.FlushAll()
	w := New(b.lock, b.memory, time.Minute, b.bounds.Clients, nil)
	left := b.bounds
	for _, m := range moves {
		if err := w.Move(b.t.Context(), m); err != nil {
			b.t.Fatalf("%s: %s: %v", b.lock.Name, Text(moves), err)
		}
		switch {
		case m.Client == "":
			left.Expiry--
		case m.Die:
			left.Deaths--
		case m.Lose:
			left.Lost--
		}
	}
	mortal := b.mortal()
	var next []Move
	for _, who := range strings.Split(b.bounds.Clients, "") {
		for _, m := range []Move{{Client: who}, {Client: who, Die: true}, {Client: who, Lose: true}} {
			if w.Can(m) && (!m.Die || left.Deaths > 0) && (!m.Lose || left.Lost > 0) {
				next = append(next, m)
			}
		}
	}
	if len(next) == 0 {
		b.count(moves)
		return
	}
	if mortal && left.Expiry > 0 {
		next = append(next, Move{})
	}
	for _, m := range next {
		b.try(append(slices.Clone(moves), m))
	}
}

// count counts a whole interleaving.
func (b *brute) count(moves []Move) {
	b.all++
	found := watched(b.t, b.memory, b.client, b.lock, b.bounds.Clients, moves)
	if !slices.Contains(found, b.violation) {
		return
	}
	if b.violating++; b.shortest == 0 || len(moves) < b.shortest {
		b.shortest = len(moves)
	}
}

// mortal reports whether something ends when time passes.
func (b *brute) mortal() bool {
	return slices.ContainsFunc(b.memory.redis.Keys(), func(key string) bool { return b.memory.redis.TTL(key) > 0 }) ||
		b.lock.ClientTime && b.memory.redis.Exists(articlelock.Key)
}

// Explore merges interleavings that reach the same position. It must count the same as a search that merges nothing.
func TestExploreCountsEveryInterleaving(t *testing.T) {
	testenv.Slow(t)
	neverReleased := articlelock.GetSet // with its release there are too many
	neverReleased.Release = nil
	persisted := articlelock.EXPIREByAll // here the order of two commands alone decides whether the key expires
	persisted.Acquire = slices.Clone(persisted.Acquire)
	persisted.Acquire[1].Command = func(c *articlelock.Client) []any {
		if c.Refused {
			return []any{"PERSIST", articlelock.Key}
		}
		return articlelock.EXPIREByAll.Acquire[1].Command(c)
	}
	for _, c := range []struct {
		lock      articlelock.Lock
		bounds    Bounds
		violation Violation
	}{
		{articlelock.SETNX, Bounds{Clients: "AB", Deaths: 2, Expiry: 1}, OrphanedLock},
		{articlelock.SETNXThenEXPIRE, Bounds{Clients: "AB", Deaths: 1}, OrphanedLock},
		{articlelock.EXPIREByAll, Bounds{Clients: "AB", Deaths: 1}, NonOwnerRenewal},
		{persisted, Bounds{Clients: "AB", Deaths: 1}, OrphanedLock},
		{articlelock.PlainDEL, Bounds{Clients: "AB", Expiry: 1}, NonOwnerUnlock},
		{articlelock.Compare, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, LostUpdate},
		{articlelock.Compare, Bounds{Clients: "ABC"}, LostUpdate},
		{articlelock.ExtendBySET, Bounds{Clients: "AB", Expiry: 1}, Overwritten},
		{articlelock.Uncounted, Bounds{Clients: "AB"}, LostUpdate},
		{articlelock.Counted, Bounds{Clients: "AB", Deaths: 1}, LeftUntilExpiry},
		{articlelock.UnlockInFinally, Bounds{Clients: "AB", Expiry: 1}, NonOwnerUnlock},
		{articlelock.Redisson, Bounds{Clients: "AB", Expiry: 1}, FalseRelease},
		{neverReleased, Bounds{Clients: "AB", Expiry: 1}, LostUpdate},
		{articlelock.CompensatedByDEL, Bounds{Clients: "AB", Lost: 2, Expiry: 1}, NonOwnerUnlock},
		{articlelock.CompensatedByScript, Bounds{Clients: "AB", Lost: 1, Deaths: 1}, LeftUntilExpiry},
		{V3, Bounds{Clients: "AB", Lost: 1, Expiry: 1}, LostUpdate},
	} {
		t.Run(fmt.Sprintf("%s, %+v", c.lock.Name, c.bounds), func(t *testing.T) {
			t.Parallel()
			f, err := Explore(t.Context(), c.lock, c.bounds, c.violation)
			if err != nil {
				t.Fatal(err)
			}
			memory, err := NewMemory()
			if err != nil {
				t.Fatal(err)
			}
			b := &brute{t: t, memory: memory, client: in(t, memory), lock: c.lock, bounds: c.bounds, violation: c.violation}
			b.try(nil)
			_ = memory.Close()
			t.Logf("%s, %+v, %s: %d interleavings, %d with a violation, the shortest has %d moves",
				c.lock.Name, c.bounds, c.violation, b.all, b.violating, b.shortest)
			if f.Interleavings.Int64() != int64(b.all) || f.Violating.Int64() != int64(b.violating) || len(f.Counterexample) != b.shortest {
				t.Errorf("%s with %+v: Explore says: %s", c.lock.Name, c.bounds, f)
			}
		})
	}
}

// A violation of Explore does not depend on its own Redis: it happens on a fresh one and on a real server, too.
func TestTheCounterexampleViolatesOnARealServer(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	real := connected(t, testenv.Redis(t, true).Addr)
	for _, c := range []struct {
		lock      articlelock.Lock
		bounds    Bounds
		violation Violation
	}{
		{articlelock.SETNX, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, OrphanedLock},
		{articlelock.SETNXThenEXPIRE, Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, OrphanedLock},
		{articlelock.EXPIREByAll, Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, NonOwnerRenewal},
		{articlelock.PlainDEL, Bounds{Clients: "AB", Expiry: 1}, NonOwnerUnlock},
		{articlelock.CompareInClient, Bounds{Clients: "ABC", Expiry: 1}, NonOwnerUnlock},
		{articlelock.Compare, Bounds{Clients: "ABC", Expiry: 1}, LostUpdate},
		{articlelock.Compare, Bounds{Clients: "AB", Lost: 1}, LeftUntilExpiry},
		{articlelock.SETWithoutNX, Bounds{Clients: "AB"}, LostUpdate},
		{articlelock.IgnoredReply, Bounds{Clients: "AB"}, LostUpdate},
		{articlelock.ExtendBySET, Bounds{Clients: "AB", Expiry: 1}, Overwritten},
		{articlelock.Uncounted, Bounds{Clients: "AB"}, LostUpdate},
		{articlelock.CompensatedByDEL, Bounds{Clients: "AB", Lost: 1}, NonOwnerUnlock},
		{articlelock.UnlockInFinally, Bounds{Clients: "ABC"}, LostUpdate},
		{articlelock.Redisson, Bounds{Clients: "AB", Expiry: 1}, FalseRelease},
		{articlelock.GetSetApart, Bounds{Clients: "AB"}, LostUpdate},
		{V3, Bounds{Clients: "AB", Expiry: 1}, LostUpdate},
	} {
		f, err := Explore(t.Context(), c.lock, c.bounds, c.violation)
		if err != nil {
			t.Fatal(err)
		}
		_, found, err := Replay(t.Context(), c.lock, c.bounds.Clients, f.Counterexample)
		if err != nil || !slices.Contains(found, c.violation) {
			t.Errorf("%s: %s on a fresh Memory: %v, %v", c.lock.Name, Text(f.Counterexample), found, err)
		}
		if found := watched(t, real, real, c.lock, c.bounds.Clients, f.Counterexample); !slices.Contains(found, c.violation) {
			t.Errorf("%s: %s on a real server: %v, want %s", c.lock.Name, Text(f.Counterexample), found, c.violation)
		}
	}
}
