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

	"locklab/internal/testenv"
	"locklab/pview"
)

// sent is a hook that notes the commands, and runs afterRead, if set, when the counter has been read.
type sent struct {
	names     []string
	afterRead func()
}

func (h *sent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.names = append(h.names, cmd.Name())
		err := next(ctx, cmd)
		if h.afterRead != nil && hasRead(cmd) {
			h.afterRead()
		}
		return err
	}
}

// hasRead reports whether a command has read the counter: GET, or the script that reads, with three arguments behind its two keys.
func hasRead(cmd redis.Cmder) bool {
	if script, ok := cmd.(*redis.Cmd); ok {
		reply, err := script.StringSlice()
		return err == nil && len(reply) == 2 && len(script.Args()) == 8
	}
	return cmd.Name() == "get"
}

// hooked is a counter whose commands are noted.
func hooked(t *testing.T, addr string) (*pview.Counter, *sent) {
	c, hook := client(t, addr), new(sent)
	c.AddHook(hook)
	return counter(c), hook
}

// increments fails unless an increment with the fencing token writes want.
func increments(t *testing.T, c *pview.Counter, token uint64, want int64) {
	t.Helper()
	if view, err := c.Increment(t.Context(), "v3", testenv.Granted(token)); err != nil || view.Value != want || view.Token != token {
		t.Errorf("with the fencing token %d: %+v, %v, want that it wrote %d", token, view, err, want)
	}
}

// stale fails unless an increment with the fencing token is refused because of newest.
func stale(t *testing.T, c *pview.Counter, token, newest uint64) {
	t.Helper()
	_, err := c.Increment(t.Context(), "v3", testenv.Granted(token))
	isStale(t, err, token, newest)
}

func isStale(t *testing.T, err error, token, newest uint64) {
	t.Helper()
	want := fmt.Sprintf(`its fencing token is "v3 %d", and the registered one of the last reader is "v3 %d"`, token, newest)
	if !errors.Is(err, pview.ErrStale) || errors.Is(err, pview.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("with the fencing token %d: %v, want ErrStale alone with %q", token, err, want)
	}
}

// A holder is granted fencing token 1, reads, and pauses; its lease expires, another is granted fencing token 2 and
// writes; the first wakes up.
func testTwoHolders(t *testing.T, addr string) {
	awake := counter(client(t, addr))
	set(t, awake, 10)
	paused, hook := hooked(t, addr)
	hook.afterRead = func() { increments(t, awake, 2, 11) }
	stale(t, paused, 1, 2) // at the write
	holds(t, awake, 11)
	hook.afterRead = nil
	stale(t, paused, 1, 2) // at the read
	increments(t, awake, 3, 12)
	increments(t, paused, 4, 13)
}

// A check at the write alone does not see this: both holders have read, and the older one writes first. The read of the newer one
// refuses that write: otherwise both would be told 11, and one update would be lost.
func testStaleFirst(t *testing.T, addr string) { testFirstReaderWrites(t, addr, 1, 2) }

// Two holders are granted one token, as in a split brain, and a holder of another lock reads between them. Its token takes the place of
// the first one, so that the second is not compared with it. The first must not be taken for the second: nobody would count 12.
func testTokenTwice(t *testing.T, addr string) {
	testFirstReaderWrites(t, addr, 5, 5, func(c *pview.Counter) {
		if view, err := c.Increment(t.Context(), "v7", testenv.Granted(2)); err != nil || view.Value != 11 {
			t.Errorf("a holder of the other lock: %+v, %v", view, err)
		}
	})
}

// testFirstReaderWrites lets two holders of v3 read, with these tokens, and the others in between. Then the first one writes, and after
// it the second.
func testFirstReaderWrites(t *testing.T, addr string, first, second uint64, others ...func(*pview.Counter)) {
	later, afterLater := hooked(t, addr)
	early, afterEarly := hooked(t, addr)
	set(t, later, 10)
	hasRead, goOn, told := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	afterEarly.afterRead = func() { close(hasRead); <-goOn }
	go func() {
		_, err := early.Increment(t.Context(), "v3", testenv.Granted(first))
		told <- err
	}()
	<-hasRead
	between := counter(client(t, addr))
	for _, other := range others {
		other(between)
	}
	before := int64(10 + len(others))
	afterLater.afterRead = func() {
		close(goOn)
		isStale(t, <-told, first, second)
		holds(t, between, before)
	}
	increments(t, later, second, before+1)
	holds(t, between, before+1)
}

func testToken(t *testing.T, addr string) {
	const words = 1 << 53 // from here on a float leaves numbers out
	for _, c := range []struct {
		name          string
		newest, token uint64
		refused       bool
	}{
		{"a token is registered once: two masters of a split brain have granted it", 7, 7, true},
		{"fencing tokens are numbers, not words", 10, 9, true},
		{"and the other way round", 9, 10, false},
		{"fencing tokens are exact", words + 1, words, true},
		{"and the other way round, exactly", words, words + 1, false},
		{"the largest", 1<<64 - 1, 1<<64 - 2, true},
		{"without a fencing token nothing is checked", 7, 0, false},
		{"a fencing token after none", 0, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			admin := client(t, addr)
			if err := admin.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			counter := counter(admin)
			increments(t, counter, c.newest, 1)
			if c.refused {
				stale(t, counter, c.token, c.newest)
				holds(t, counter, 1)
				return
			}
			increments(t, counter, c.token, 2)
			holds(t, counter, 2)
		})
	}
}

// Neither setting the counter nor a write without a fencing token forgets the newest fencing token, or makes a newer
// one stale.
func testTokenStays(t *testing.T, addr string) {
	c := counter(client(t, addr))
	increments(t, c, 5, 1)
	set(t, c, 0)
	lasts(t, addr)
	stale(t, c, 4, 5)
	increments(t, c, 0, 1)
	lasts(t, addr)
	if _, err := c.IncrementAtomic(t.Context()); err != nil {
		t.Fatal(err)
	}
	stale(t, c, 4, 5)
	holds(t, c, 2)
	set(t, c, 0)
	increments(t, c, 6, 1)
	increments(t, c, 7, 2)
	lasts(t, addr)
}

// A holder in flight does not overwrite a value that was set, whichever lock it has. The next holder goes on from there, and an older one
// is refused.
func testSetTakesOver(t *testing.T, addr string) {
	admin := counter(client(t, addr))
	c, hook := hooked(t, addr)
	for i, name := range []string{"v3", "v7", "v3"} {
		token := uint64(10 + i)
		increment := func(token uint64) (pview.View, error) { return c.Increment(t.Context(), name, testenv.Granted(token)) }
		hook.afterRead = func() { set(t, admin, 100) }
		if _, err := increment(token); !errors.Is(err, pview.ErrStale) {
			t.Errorf("%s: a holder that has read before: %v, want ErrStale", name, err)
		}
		hook.afterRead = nil
		holds(t, admin, 100)
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

// A counter that no holder has read has no registration, also after it was set.
func testSetRegistersNobody(t *testing.T, addr string) {
	c := client(t, addr)
	set(t, counter(c), 5)
	if n := c.Exists(t.Context(), pview.TokenKey).Val(); n != 0 {
		t.Error("there is a registration")
	}
	increments(t, counter(c), 1, 6)
}

// A holder whose token is deleted between its read and its write is refused: whether another one has read since is not known. The next
// one is not.
func testTokenIsLost(t *testing.T, addr string) {
	c, hook := hooked(t, addr)
	hook.afterRead = func() {
		if err := client(t, addr).Del(t.Context(), pview.TokenKey).Err(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Increment(t.Context(), "v3", testenv.Granted(2)); !errors.Is(err, pview.ErrStale) ||
		!strings.Contains(err.Error(), `is ""`) {
		t.Errorf("got %v, want ErrStale, and that no token is registered", err)
	}
	holds(t, c, 0)
	hook.afterRead = nil
	increments(t, c, 3, 1)
}

// An instance from before the holders had names registers "v3 5". A token is compared with it as before. A write is refused after it,
// even with the same token: whether the writer or another holder has read last is not known.
func testOlderRegistration(t *testing.T, addr string) {
	admin := client(t, addr)
	register := func(older string) {
		if err := admin.Set(t.Context(), "{pview}:fence", older, 0).Err(); err != nil {
			t.Error(err)
		}
	}
	c, hook := hooked(t, addr)
	register("v3 5")
	stale(t, c, 5, 5)
	hook.afterRead = func() { register("v3 6") }
	stale(t, c, 6, 6)
	holds(t, c, 0)
	hook.afterRead = nil
	increments(t, c, 7, 1)
	if got := admin.Get(t.Context(), "{pview}:fence").Val(); !regexp.MustCompile(`^v3 7 [A-Z2-7]{26}$`).MatchString(got) {
		t.Errorf("registered is %q", got)
	}
}

// The tokens of two locks are not compared: a small one of v7 is not stale because v3 has registered a large one. Only the holder that
// has read last can write.
func testTwoLocks(t *testing.T, addr string) {
	other := counter(client(t, addr))
	c, hook := hooked(t, addr)
	hook.afterRead = func() {
		if view, err := other.Increment(t.Context(), "v7", testenv.Granted(2)); err != nil || view.Value != 1 {
			t.Errorf("a holder of the other lock: %+v, %v", view, err)
		}
	}
	if _, err := c.Increment(t.Context(), "v3", testenv.Granted(100)); !errors.Is(err, pview.ErrStale) ||
		!strings.Contains(err.Error(), `is "v7 2"`) {
		t.Errorf("got %v, want ErrStale, and the other lock's token", err)
	}
	holds(t, other, 1)
}

// lasts fails if the counter or the newest fencing token expires: a stale holder may come late.
func lasts(t *testing.T, addr string) {
	t.Helper()
	for _, key := range []string{pview.Key, pview.TokenKey} {
		if ttl, err := client(t, addr).PTTL(t.Context(), key).Result(); err != nil || ttl != -1 {
			t.Errorf("%s expires in %s (%v)", key, ttl, err)
		}
	}
}

// Reading is one command and writing another. A server that does not know the scripts yet, or no
// more, says so and has done nothing.
func testCommands(t *testing.T, addr string) {
	admin := client(t, addr)
	c, hook := hooked(t, addr)
	holds(t, c, 0) // by now it is connected
	for i, want := range [][]string{{"evalsha", "eval", "evalsha", "eval"}, {"evalsha", "evalsha"}, {"evalsha", "evalsha"}} {
		if i == 0 {
			if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		hook.names = nil
		increments(t, c, uint64(i+1), int64(i+1))
		if !slices.Equal(hook.names, want) {
			t.Errorf("increment %d sent %v, want %v", i+1, hook.names, want)
		}
	}
	hook.names = nil
	increments(t, c, 0, 4)
	if want := []string{"get", "set"}; !slices.Equal(hook.names, want) {
		t.Errorf("without a fencing token it sent %v, want %v", hook.names, want)
	}
}

// A cluster refuses a script whose keys are in different slots; that all keys are at the same node
// is not enough.
func TestTokenInACluster(t *testing.T) {
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
	testenv.Eventually(t, "the cluster is whole", func() bool { return cluster.Set(t.Context(), pview.Key, 0, 0).Err() == nil })
	c := pview.NewCounter(cluster, func() redis.UniversalClient { return cluster })
	increments(t, c, 2, 1)
	stale(t, c, 1, 2)
	value, token := admin.ClusterKeySlot(t.Context(), pview.Key).Val(), admin.ClusterKeySlot(t.Context(), pview.TokenKey).Val()
	if value == 0 || value != token {
		t.Errorf("%s is in the slot %d and %s in %d", pview.Key, value, pview.TokenKey, token)
	}
}
