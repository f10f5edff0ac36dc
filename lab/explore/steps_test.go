package explore

import (
	"context"
	"errors"
	"math/big"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/lockstrategy/articlelock"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestExplore(t *testing.T) {
	for _, c := range []struct {
		lock      articlelock.Lock
		bounds    Bounds
		violation Violation
		violates  bool
	}{
		{articlelock.SETNX, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, OrphanedLock, true},
		{articlelock.SETNX, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, LostUpdate, false},
		{articlelock.SETNXThenEXPIRE, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, OrphanedLock, true},
		{articlelock.EXPIREByAll, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, true},
		{articlelock.EXPIREByAll, Bounds{Clients: "A", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{articlelock.SETNXThenEXPIRE, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{articlelock.Extend, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{V3, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{V3, Bounds{Clients: "AB"}, LostUpdate, false},
		{articlelock.PlainDEL, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, OrphanedLock, false},
		{articlelock.PlainDEL, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, NonOwnerUnlock, true},
		{articlelock.CompareInClient, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, NonOwnerUnlock, true},
		{articlelock.Compare, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerUnlock, false},
		{articlelock.Compare, Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, OrphanedLock, false},
		{articlelock.Compare, Bounds{Clients: "ABC", Deaths: 1, Expiry: 0}, LostUpdate, false},
		{articlelock.Compare, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, LostUpdate, true},
		{articlelock.SETWithoutNX, Bounds{Clients: "AB", Deaths: 0, Expiry: 0}, LostUpdate, true},
		{articlelock.SharedValue, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, NonOwnerUnlock, true},
		{articlelock.UnlockInFinally, Bounds{Clients: "AB"}, NonOwnerUnlock, true},
		{articlelock.UnlockInFinally, Bounds{Clients: "ABC"}, LostUpdate, true},
		{articlelock.ScriptInFinally, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerUnlock, false},
		{articlelock.ScriptInFinally, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{articlelock.Redisson, Bounds{Clients: "AB", Deaths: 1}, FalseRelease, false},
		{articlelock.Redisson, Bounds{Clients: "A", Expiry: 1}, FalseRelease, true},
		{articlelock.RedissonOwnerFirst, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{articlelock.Compare, Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{V3, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{articlelock.GetSet, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Overwritten, false},
		{articlelock.GetSetApart, Bounds{Clients: "AB"}, LostUpdate, true},
	} {
		f, err := Explore(t.Context(), c.lock, c.bounds, c.violation)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %+v, %s: %s", c.lock.Name, c.bounds, c.violation, f)
		if (f.Violating.Sign() > 0) != c.violates {
			t.Errorf("%s with %+v: %s", c.lock.Name, c.bounds, f)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := Explore(ended, articlelock.SETNX, Bounds{Clients: "AB"}, LostUpdate); !errors.Is(err, context.Canceled) {
		t.Errorf("cut short: %+v, %v", f, err)
	}
}

// The result says how many interleavings violate, or that none does.
func TestWhatWasFoundInWords(t *testing.T) {
	for violating, want := range map[int64]string{0: "no violation in all 20 interleavings", 3: "violation in 3 of 20 interleavings"} {
		if got := (Found{Interleavings: big.NewInt(20), Violating: big.NewInt(violating)}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The bounds name the clients, and have a mark for each death, each lost reply, and each time that passes.
func TestMayHappen(t *testing.T) {
	if got := (Bounds{Clients: "ABC", Deaths: 2, Lost: 1, Expiry: 3}).MayHappen(); got != "A B C † † ? … … …" {
		t.Errorf("%q", got)
	}
}

func connected(t *testing.T, addr string) Redis {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return Redis{client}
}
