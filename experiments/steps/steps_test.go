package steps

import (
	"context"
	"errors"
	"math/big"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy/naive"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestExplore(t *testing.T) {
	for _, c := range []struct {
		lock      naive.Lock
		bounds    Bounds
		violation Violation
		violates  bool
	}{
		{naive.SETNX, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, OrphanedLock, true},
		{naive.SETNX, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, LostUpdate, false},
		{naive.SETNXThenEXPIRE, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, OrphanedLock, true},
		{naive.EXPIREByAll, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, true},
		{naive.EXPIREByAll, Bounds{Clients: "A", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{naive.SETNXThenEXPIRE, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{naive.Extend, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{V3, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerRenewal, false},
		{V3, Bounds{Clients: "AB"}, LostUpdate, false},
		{naive.PlainDEL, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, OrphanedLock, false},
		{naive.PlainDEL, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, NonOwnerUnlock, true},
		{naive.CompareInClient, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, NonOwnerUnlock, true},
		{naive.Compare, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerUnlock, false},
		{naive.Compare, Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, OrphanedLock, false},
		{naive.Compare, Bounds{Clients: "ABC", Deaths: 1, Expiry: 0}, LostUpdate, false},
		{naive.Compare, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, LostUpdate, true},
		{naive.SETWithoutNX, Bounds{Clients: "AB", Deaths: 0, Expiry: 0}, LostUpdate, true},
		{naive.SharedValue, Bounds{Clients: "AB", Deaths: 0, Expiry: 1}, NonOwnerUnlock, true},
		{naive.UnlockInFinally, Bounds{Clients: "AB"}, NonOwnerUnlock, true},
		{naive.UnlockInFinally, Bounds{Clients: "ABC"}, LostUpdate, true},
		{naive.ScriptInFinally, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, NonOwnerUnlock, false},
		{naive.ScriptInFinally, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{naive.Redisson, Bounds{Clients: "AB", Deaths: 1}, FalseRelease, false},
		{naive.Redisson, Bounds{Clients: "A", Expiry: 1}, FalseRelease, true},
		{naive.RedissonOwnerFirst, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{naive.Compare, Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{V3, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, FalseRelease, false},
		{naive.GetSet, Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Overwritten, false},
		{naive.GetSetApart, Bounds{Clients: "AB"}, LostUpdate, true},
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
	if f, err := Explore(ended, naive.SETNX, Bounds{Clients: "AB"}, LostUpdate); !errors.Is(err, context.Canceled) {
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
