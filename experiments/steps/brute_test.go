package steps

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/history"
	"locklab/internal/testenv"
	"locklab/lockstrategy/naive"
)

// watched plays moves on a server that holds nothing, and says what is wrong at the end. It knows nothing of positions: it
// looks at what was recorded, and at what stands in the lock before and after each move.
func watched(t *testing.T, server Server, client Client, lock naive.Lock, clients string, moves []Move) (w *World, broken []Violation) {
	t.Helper()
	ctx := t.Context()
	if err := client.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	recorder := history.NewRecorder()
	w = New(lock, server, time.Minute, clients, recorder.Add)
	for _, m := range moves {
		before := stored(t, client)
		if err := w.Move(ctx, m); err != nil {
			t.Fatalf("%s: %s: %v", lock.Name, Text(moves), err)
		}
		after := stored(t, client)
		if foreign := m.Who != "" && before != "" && !strings.Contains(before, "attempt-"+m.Who); foreign && after == "" {
			broken = append(broken, Foreign)
		} else if foreign && after != before {
			broken = append(broken, Stolen)
		}
	}
	if err := w.End(ctx); err != nil {
		t.Fatal(err)
	}
	events := recorder.Events()
	for b, found := range map[Violation][]history.Violation{
		LostUpdate: history.Counter(events), Orphaned: history.Noted(events, Orphan), Left: history.Noted(events, Behind),
	} {
		if len(found) > 0 {
			broken = append(broken, b)
		}
	}
	return w, broken
}

// stored is what stands in the lock.
func stored(t *testing.T, client Client) string {
	t.Helper()
	var text string
	var err error
	switch client.Type(t.Context(), naive.Key).Val() {
	case "string":
		text, err = client.Get(t.Context(), naive.Key).Result()
	case "hash":
		var fields map[string]string
		fields, err = client.HGetAll(t.Context(), naive.Key).Result()
		for owner, count := range fields {
			text += owner + "=" + count
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// brute counts every order by playing it from its beginning.
type brute struct {
	t              *testing.T
	memory         *Memory
	lock           naive.Lock
	bounds         Bounds
	breach         Violation
	orders, broken int
	shortest       int
}

func (b *brute) try(moves []Move) {
	w, broken := watched(b.t, b.memory, b.memory.Client, b.lock, b.bounds.Clients, moves)
	left := b.bounds
	for _, m := range moves {
		switch {
		case m.Who == "":
			left.Expiry--
		case m.Die:
			left.Deaths--
		case m.Lose:
			left.Lost--
		}
	}
	mortal := slices.ContainsFunc(b.memory.redis.Keys(), func(key string) bool { return b.memory.redis.TTL(key) > 0 })
	var next []Move
	for _, who := range strings.Split(b.bounds.Clients, "") {
		for _, m := range []Move{{Who: who}, {Who: who, Die: true}, {Who: who, Lose: true}} {
			if w.Can(m) && (!m.Die || left.Deaths > 0) && (!m.Lose || left.Lost > 0) {
				next = append(next, m)
			}
		}
	}
	if len(next) == 0 {
		b.orders++
		if slices.Contains(broken, b.breach) {
			if b.broken++; b.shortest == 0 || len(moves) < b.shortest {
				b.shortest = len(moves)
			}
		}
		return
	}
	if mortal && left.Expiry > 0 {
		next = append(next, Move{})
	}
	for _, m := range next {
		b.try(append(slices.Clone(moves), m))
	}
}

// Explore merges what reaches the same position. It must count the same as somebody who merges nothing.
func TestExploreCountsEveryOrder(t *testing.T) {
	for _, c := range []struct {
		lock   naive.Lock
		bounds Bounds
		breach Violation
	}{
		{naive.SETNX, Bounds{Clients: "AB", Deaths: 2, Expiry: 1}, Orphaned},
		{naive.SETNXThenEXPIRE, Bounds{Clients: "AB", Deaths: 1}, Orphaned},
		{naive.PlainDEL, Bounds{Clients: "AB", Expiry: 1}, Foreign},
		{naive.CompareInClient, Bounds{Clients: "AB", Expiry: 1}, Foreign},
		{naive.Compare, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, LostUpdate},
		{naive.Compare, Bounds{Clients: "ABC"}, LostUpdate},
		{naive.SETWithoutNX, Bounds{Clients: "AB"}, LostUpdate},
		{naive.ExtendBySET, Bounds{Clients: "AB", Expiry: 1}, Stolen},
		{naive.Uncounted, Bounds{Clients: "AB"}, LostUpdate},
		{naive.Counted, Bounds{Clients: "AB", Deaths: 1}, Left},
		{naive.UndoneByDEL, Bounds{Clients: "AB", Lost: 2, Expiry: 1}, Foreign},
		{naive.UndoneByScript, Bounds{Clients: "AB", Lost: 1, Deaths: 1}, Left},
		{V3, Bounds{Clients: "AB", Lost: 1, Expiry: 1}, LostUpdate},
		{V3, Bounds{Clients: "AB", Deaths: 1, Lost: 1}, Left},
	} {
		f, err := Explore(t.Context(), c.lock, c.bounds, c.breach)
		if err != nil {
			t.Fatal(err)
		}
		memory, err := NewMemory()
		if err != nil {
			t.Fatal(err)
		}
		b := &brute{t: t, memory: memory, lock: c.lock, bounds: c.bounds, breach: c.breach}
		b.try(nil)
		_ = memory.Close()
		t.Logf("%s, %+v, %s: %d orders, %d broken, the shortest has %d moves", c.lock.Name, c.bounds, c.breach, b.orders, b.broken, b.shortest)
		if f.Interleavings.Int64() != int64(b.orders) || f.Violating.Int64() != int64(b.broken) || len(f.Counterexample) != b.shortest {
			t.Errorf("%s with %+v: Explore says: %s", c.lock.Name, c.bounds, f)
		}
	}
}

// soon is a real server on which every expiry can be brought forward.
type soon struct{ Client }

// Pass lets every key that has an expiry end, and waits until none is left.
func (s soon) Pass(ctx context.Context) error {
	for {
		left := 0
		for _, key := range s.Keys(ctx, "*").Val() {
			if s.PTTL(ctx, key).Val() >= 0 { // -1: it has none; 0: less than a millisecond
				left++
				if err := s.PExpire(ctx, key, time.Millisecond).Err(); err != nil {
					return err
				}
			}
		}
		if left == 0 {
			return ctx.Err()
		}
	}
}

// What Explore finds is no matter of its own Redis: played again, it breaks on a fresh one and on a real server.
func TestTheShortestBreaksOnARealServer(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	real := connected(t, testenv.Redis(t, true).Addr)
	for _, c := range []struct {
		lock   naive.Lock
		bounds Bounds
		breach Violation
	}{
		{naive.SETNX, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Orphaned},
		{naive.SETNXThenEXPIRE, Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Orphaned},
		{naive.PlainDEL, Bounds{Clients: "AB", Expiry: 1}, Foreign},
		{naive.CompareInClient, Bounds{Clients: "ABC", Expiry: 1}, Foreign},
		{naive.Compare, Bounds{Clients: "ABC", Expiry: 1}, LostUpdate},
		{naive.Compare, Bounds{Clients: "AB", Lost: 1}, Left},
		{naive.SETWithoutNX, Bounds{Clients: "AB"}, LostUpdate},
		{naive.Unheard, Bounds{Clients: "AB"}, LostUpdate},
		{naive.ExtendBySET, Bounds{Clients: "AB", Expiry: 1}, Stolen},
		{naive.Uncounted, Bounds{Clients: "AB"}, LostUpdate},
		{naive.UndoneByDEL, Bounds{Clients: "AB", Lost: 1}, Foreign},
		{V3, Bounds{Clients: "AB", Expiry: 1}, LostUpdate},
	} {
		f, err := Explore(t.Context(), c.lock, c.bounds, c.breach)
		if err != nil {
			t.Fatal(err)
		}
		_, broken, err := Replay(t.Context(), c.lock, c.bounds.Clients, f.Counterexample)
		if err != nil || !slices.Contains(broken, c.breach) {
			t.Errorf("%s: %s on a fresh Memory: %v, %v", c.lock.Name, Text(f.Counterexample), broken, err)
		}
		if _, broken := watched(t, soon{real}, real, c.lock, c.bounds.Clients, f.Counterexample); !slices.Contains(broken, c.breach) {
			t.Errorf("%s: %s on a real server: %v, want %s", c.lock.Name, Text(f.Counterexample), broken, c.breach)
		}
	}
}
