package pview_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/pview"
)

// commandHook records the names of the commands, and calls afterRead, if set, after each read of the counter.
type commandHook struct {
	names     []string
	afterRead func()
}

func (h *commandHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *commandHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *commandHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.names = append(h.names, cmd.Name())
		err := next(ctx, cmd)
		if h.afterRead != nil && isRead(cmd) {
			h.afterRead()
		}
		return err
	}
}

// isRead reports whether a command has read the counter: a GET, or the script that reads, which has two keys and three arguments.
func isRead(cmd redis.Cmder) bool {
	if script, ok := cmd.(*redis.Cmd); ok {
		reply, err := script.StringSlice()
		return err == nil && len(reply) == 2 && len(script.Args()) == 8
	}
	return cmd.Name() == "get"
}

// newHookedCounter returns a counter and the hook of its commands.
func newHookedCounter(t *testing.T, addr string) (*pview.Counter, *commandHook) {
	c, hook := client(t, addr), new(commandHook)
	c.AddHook(hook)
	return counter(c), hook
}

// wantIncrement fails unless an increment with the fencing token writes want.
func wantIncrement(t *testing.T, c *pview.Counter, token uint64, want int64) {
	t.Helper()
	if view, err := c.Increment(t.Context(), "v3", testenv.Granted(token)); err != nil || view.Value != want || view.Token != token {
		t.Errorf("with the fencing token %d: %+v, %v, want the value %d", token, view, err, want)
	}
}

// wantStale fails unless an increment with the fencing token is refused because newest is registered.
func wantStale(t *testing.T, c *pview.Counter, token, newest uint64) {
	t.Helper()
	_, err := c.Increment(t.Context(), "v3", testenv.Granted(token))
	wantStaleError(t, err, token, newest)
}

func wantStaleError(t *testing.T, err error, token, newest uint64) {
	t.Helper()
	text, own, registered := fmt.Sprint(err), fmt.Sprintf(`"v3 %d"`, token), fmt.Sprintf(`"v3 %d"`, newest)
	if !errors.Is(err, pview.ErrStale) || errors.Is(err, pview.ErrUnavailable) ||
		!strings.Contains(text, own) || !strings.Contains(text, registered) {
		t.Errorf("with the fencing token %d: %v, want ErrStale with %s and %s, and not ErrUnavailable", token, err, own, registered)
	}
}

// A holder with fencing token 1 reads and pauses. Its lease expires, and another holder with token 2 reads and writes. Then the first one
// continues.
func testPausedHolder(t *testing.T, addr string) {
	awake := counter(client(t, addr))
	set(t, awake, 10)
	paused, hook := newHookedCounter(t, addr)
	hook.afterRead = func() { wantIncrement(t, awake, 2, 11) }
	wantStale(t, paused, 1, 2) // at the write
	wantValue(t, awake, 11)
	hook.afterRead = nil
	wantStale(t, paused, 1, 2) // at the read
	wantIncrement(t, awake, 3, 12)
	wantIncrement(t, paused, 4, 13)
}

// Both holders have read, and the older one writes first. A check at the write alone would miss this: both would write 11, and one update
// would be lost. Here the read of the newer holder makes that write fail.
func testStaleHolderWritesFirst(t *testing.T, addr string) { testFirstReaderWrites(t, addr, 1, 2) }

// A split brain grants one token to two holders, and a holder of another lock reads in between. Its registration replaces the first one's,
// so the second holder's token is not compared with the first one's. Still the first one must not pass for the second: 12 would be lost.
func testTokenGrantedTwice(t *testing.T, addr string) {
	testFirstReaderWrites(t, addr, 5, 5, func(c *pview.Counter) {
		if view, err := c.Increment(t.Context(), "v7", testenv.Granted(2)); err != nil || view.Value != 11 {
			t.Errorf("a holder of the other lock: %+v, %v", view, err)
		}
	})
}

// testFirstReaderWrites lets two holders of v3 with these tokens read, and the others in between. The first one writes, then the second.
// Only the second may succeed.
func testFirstReaderWrites(t *testing.T, addr string, first, second uint64, others ...func(*pview.Counter)) {
	later, afterLater := newHookedCounter(t, addr)
	early, afterEarly := newHookedCounter(t, addr)
	set(t, later, 10)
	read, resume, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	afterEarly.afterRead = func() { close(read); <-resume }
	go func() {
		_, err := early.Increment(t.Context(), "v3", testenv.Granted(first))
		result <- err
	}()
	<-read
	between := counter(client(t, addr))
	for _, other := range others {
		other(between)
	}
	before := int64(10 + len(others))
	afterLater.afterRead = func() {
		close(resume)
		wantStaleError(t, <-result, first, second)
		wantValue(t, between, before)
	}
	wantIncrement(t, later, second, before+1)
	wantValue(t, between, before+1)
}

func testTokenOrder(t *testing.T, addr string) {
	const inexact = 1 << 53 // from here on, a float cannot represent every integer
	for _, c := range []struct {
		name          string
		newest, token uint64
		refused       bool
	}{
		{"a token can be registered once: two masters may have granted it", 7, 7, true},
		{"tokens are compared as numbers, not as text", 10, 9, true},
		{"and the other way round", 9, 10, false},
		{"tokens are compared exactly", inexact + 1, inexact, true},
		{"and the other way round, exactly", inexact, inexact + 1, false},
		{"the largest tokens", 1<<64 - 1, 1<<64 - 2, true},
		{"without a token nothing is checked", 7, 0, false},
		{"a token after none", 0, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			admin := client(t, addr)
			if err := admin.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			counter := counter(admin)
			wantIncrement(t, counter, c.newest, 1)
			if c.refused {
				wantStale(t, counter, c.token, c.newest)
				wantValue(t, counter, 1)
				return
			}
			wantIncrement(t, counter, c.token, 2)
			wantValue(t, counter, 2)
		})
	}
}

// Neither Set nor a write without a fencing token clears the registered token, or makes a newer one stale.
func testNewestTokenStays(t *testing.T, addr string) {
	c := counter(client(t, addr))
	wantIncrement(t, c, 5, 1)
	set(t, c, 0)
	wantNoExpiry(t, addr)
	wantStale(t, c, 4, 5)
	wantIncrement(t, c, 0, 1)
	wantNoExpiry(t, addr)
	if _, err := c.IncrementAtomic(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantStale(t, c, 4, 5)
	wantValue(t, c, 2)
	set(t, c, 0)
	wantIncrement(t, c, 6, 1)
	wantIncrement(t, c, 7, 2)
	wantNoExpiry(t, addr)
}

// A holder in flight does not overwrite a value that was set, whichever lock it has. The next holder continues from that value, and an
// older one is refused. Set alone registers nobody.
func testSetTakesOver(t *testing.T, addr string) {
	admin := counter(client(t, addr))
	set(t, admin, 5)
	if n := client(t, addr).Exists(t.Context(), pview.TokenKey).Val(); n != 0 {
		t.Error("Set created a registration")
	}
	c, hook := newHookedCounter(t, addr)
	for i, name := range []string{"v3", "v7", "v3"} {
		token := uint64(10 + i)
		increment := func(token uint64) (pview.View, error) { return c.Increment(t.Context(), name, testenv.Granted(token)) }
		hook.afterRead = func() { set(t, admin, 100) }
		if _, err := increment(token); !errors.Is(err, pview.ErrStale) {
			t.Errorf("%s: the holder that read before Set: %v, want ErrStale", name, err)
		}
		hook.afterRead = nil
		wantValue(t, admin, 100)
		for _, old := range []uint64{token - 1, token} {
			if _, err := increment(old); !errors.Is(err, pview.ErrStale) {
				t.Errorf("%s: the token %d after %d: %v, want ErrStale", name, old, token, err)
			}
		}
		if view, err := increment(token + 1); err != nil || view.Value != 101 {
			t.Errorf("%s: the next holder: %+v, %v", name, view, err)
		}
	}
}

// A holder whose registration is deleted between its read and its write is refused, because another holder may have read since. The next
// holder is not refused.
func testLostToken(t *testing.T, addr string) {
	c, hook := newHookedCounter(t, addr)
	hook.afterRead = func() {
		if err := client(t, addr).Del(t.Context(), pview.TokenKey).Err(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Increment(t.Context(), "v3", testenv.Granted(2)); !errors.Is(err, pview.ErrStale) ||
		!strings.Contains(err.Error(), `""`) {
		t.Errorf(`got %v, want ErrStale with "" as the registered token`, err)
	}
	wantValue(t, c, 0)
	hook.afterRead = nil
	wantIncrement(t, c, 3, 1)
}

// An older program registers "v3 5", without a name. Tokens are compared with it as usual. A write after it is refused, even with the same
// token, because another holder may have read last.
func testRegistrationWithoutName(t *testing.T, addr string) {
	admin := client(t, addr)
	register := func(registration string) {
		if err := admin.Set(t.Context(), "{pview}:fence", registration, 0).Err(); err != nil {
			t.Error(err)
		}
	}
	c, hook := newHookedCounter(t, addr)
	register("v3 5")
	wantStale(t, c, 5, 5)
	hook.afterRead = func() { register("v3 6") }
	wantStale(t, c, 6, 6)
	wantValue(t, c, 0)
	hook.afterRead = nil
	wantIncrement(t, c, 7, 1)
	if got := admin.Get(t.Context(), "{pview}:fence").Val(); !regexp.MustCompile(`^v3 7 [A-Z2-7]{26}$`).MatchString(got) {
		t.Errorf("the registration is %q", got)
	}
}

// wantNoExpiry fails if the counter or the registration has a TTL: a stale holder may write at any time later.
func wantNoExpiry(t *testing.T, addr string) {
	t.Helper()
	for _, key := range []string{pview.Key, pview.TokenKey} {
		if ttl, err := client(t, addr).PTTL(t.Context(), key).Result(); err != nil || ttl != -1 {
			t.Errorf("%s expires in %s (%v)", key, ttl, err)
		}
	}
}

// A read is one command, and so is a write. A server that does not have a script in its cache gets the script once.
func testCommands(t *testing.T, addr string) {
	admin := client(t, addr)
	c, hook := newHookedCounter(t, addr)
	wantValue(t, c, 0) // opens the connection
	for i, want := range [][]string{{"evalsha", "eval", "evalsha", "eval"}, {"evalsha", "evalsha"}, {"evalsha", "evalsha"}} {
		if i == 0 {
			if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		hook.names = nil
		wantIncrement(t, c, uint64(i+1), int64(i+1))
		if !slices.Equal(hook.names, want) {
			t.Errorf("increment %d sent %v, want %v", i+1, hook.names, want)
		}
	}
	hook.names = nil
	wantIncrement(t, c, 0, 4)
	if want := []string{"get", "set"}; !slices.Equal(hook.names, want) {
		t.Errorf("without a fencing token it sent %v, want %v", hook.names, want)
	}
}

// A cluster rejects a script whose keys are in different slots, even if one node has all of them.
func TestTokenInCluster(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node, err := testenv.Stack(t).Redis(testenv.Context(t), "cluster", true, "--cluster-enabled", "yes")
	if err != nil {
		t.Fatal(err)
	}
	admin := client(t, node.Addr)
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Addr}})
	defer cluster.Close()
	testenv.Eventually(t, "the cluster is up", func() bool { return cluster.Set(t.Context(), pview.Key, 0, 0).Err() == nil })
	c := pview.NewCounter(cluster, func() redis.UniversalClient { return cluster })
	wantIncrement(t, c, 2, 1)
	wantStale(t, c, 1, 2)
	value, token := admin.ClusterKeySlot(t.Context(), pview.Key).Val(), admin.ClusterKeySlot(t.Context(), pview.TokenKey).Val()
	if value == 0 || value != token {
		t.Errorf("%s is in slot %d, %s in slot %d", pview.Key, value, pview.TokenKey, token)
	}
}
