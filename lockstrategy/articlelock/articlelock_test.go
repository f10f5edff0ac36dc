package articlelock

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// do does the steps of a list, and returns what the client does after the last reply.
func do(t *testing.T, server *redis.Client, c *Client, list []Step) (next Next) {
	t.Helper()
	for _, step := range list {
		reply, err := server.Do(t.Context(), step.Command(c)...).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatalf("%s: %v", step.Name, err)
		}
		if next = Continue; step.Then != nil {
			next = step.Then(c, reply)
		}
		if next != Continue {
			return next
		}
	}
	return next
}

// Each lock excludes a second client, except where its text says otherwise, and is free after the release of the first. A client that is
// refused frees it by DEL in a finally block alone.
func TestALockIsTakenAndReleased(t *testing.T) {
	const lease = 10 * time.Second
	for _, c := range []struct {
		lock  Lock
		takes bool // a client that comes second takes the lock of the first
		lost  Next // what the first is told at its release, if so
	}{
		{Compare, false, 0},
		{CompareInClient, false, 0},
		{CompensatedByScript, false, 0},
		{CompensatedByDEL, false, 0},
		{PlainDEL, false, 0},
		{EXPIREByAll, false, 0},
		{ExtendBySET, false, 0},
		{Extend, false, 0},
		{UnlockInFinally, false, 0},
		{ScriptInFinally, false, 0},
		{GetSet, false, 0},
		{GetSetApart, true, NotHeld},
		{IgnoredReply, true, Continue},
		{Redisson, false, 0},
		{RedissonOwnerFirst, false, 0},
		{Counted, false, 0},
		{Uncounted, false, 0},
		{SETWithoutNX, true, NotHeld},
		{SETNX, false, 0},
		{SETNXThenEXPIRE, false, 0},
		{SETNXScript, false, 0},
		{SharedValue, false, 0},
	} {
		t.Run(c.lock.Name, func(t *testing.T) {
			server := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
			defer server.Close()
			one, two := &Client{Value: "one", Lease: lease}, &Client{Value: "two", Lease: lease, Clock: c.lock.Skew}
			if next := do(t, server, one, c.lock.Acquire); next == Refused {
				t.Fatal("a free lock is refused")
			}
			if next := do(t, server, two, c.lock.Acquire); (next != Refused) != c.takes {
				t.Fatalf("the second client takes it: %t, want %t", next != Refused, c.takes)
			}
			if c.lock.Finally {
				do(t, server, two, c.lock.Release)
			}
			if held := server.Exists(t.Context(), Key).Val() == 1; held == (c.lock.Name == UnlockInFinally.Name) {
				t.Errorf("a client that is refused leaves it held: %t", held)
			}
			if next := do(t, server, one, c.lock.Release); next != c.lost {
				t.Errorf("after its release the first client goes on with %d, want %d", next, c.lost)
			}
			if c.lost == NotHeld { // the other has it still
				do(t, server, two, c.lock.Release)
			}
			if next := do(t, server, two, c.lock.Acquire); next == Refused {
				t.Error("it was released, and is refused")
			}
			if ended := server.PTTL(t.Context(), Key).Val(); (ended > 0) == (c.lock.ClientTime || c.lock.Name == SETNX.Name) {
				t.Errorf("it ends by itself after %s", ended)
			}
		})
	}
}
