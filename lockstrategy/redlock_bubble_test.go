package lockstrategy

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// RedLock over five nodes in a synctest bubble: time is that of the bubble.

// slowNode is a hook of a client that makes its node answer late or not at all.
type slowNode struct {
	away     atomic.Bool  // it cannot be asked
	mute     atomic.Bool  // it executes a request for the key, and no release; its answers are lost
	late     atomic.Int64 // how much later a request arrives
	sent     atomic.Int64 // requests under way
	most     atomic.Int64 // at the same time
	commands string       // of which, separated by spaces; empty: all
}

var errLost = &net.OpError{Op: "read", Err: errors.New("the answer is lost")}

func (n *slowNode) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (n *slowNode) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (n *slowNode) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if n.away.Load() {
			return &net.OpError{Op: "dial", Err: errors.New("the node is away")}
		}
		switch name := cmd.Name(); {
		case !n.mute.Load():
		case name == "set":
			_ = next(ctx, cmd)
			return errLost
		case strings.HasPrefix(name, "eval"):
			return errLost
		}
		late := time.Duration(n.late.Load())
		if late == 0 || n.commands != "" && !slices.Contains(strings.Fields(n.commands), strings.TrimSuffix(cmd.Name(), "sha")) {
			return next(ctx, cmd)
		}
		n.most.Store(max(n.most.Load(), n.sent.Add(1)))
		defer n.sent.Add(-1)
		select {
		case <-time.After(late):
			return next(ctx, cmd)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func redlockInBubble(t *testing.T, commands string, f func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var servers []*miniredis.Miniredis
		var clients []redis.UniversalClient
		var slow []*slowNode
		for range 5 {
			server, hook := miniredis.NewMiniRedis(), &slowNode{commands: commands}
			server.ClockTTL(true)
			defer server.Close()
			client := inMemory(t, server)
			client.AddHook(hook)
			servers, clients, slow = append(servers, server), append(clients, client), append(slow, hook)
		}
		r, err := NewRedLock(clients, Timing{})
		if err != nil {
			t.Fatal(err)
		}
		f(t, r, servers, slow)
		time.Sleep(time.Minute) // until the last late answer is there
		_ = r.Close()
	})
}

// Nodes that hang cost nothing while a majority answers.
func TestRedLockWaitsForAMajorityOnly(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, _ []*miniredis.Miniredis, slow []*slowNode) {
		slow[1].late.Store(int64(time.Hour))
		slow[3].late.Store(int64(time.Hour))
		began := time.Now()
		for range 10 {
			mustRelease(t, mustAcquire(t, r, "k"))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("with two nodes that hang ten locks took %s", took)
		}
	})
}

// A majority is of all nodes: with two away, whichever, the lock is taken and given back, waited for, and no less exclusive.
func TestRedLockWithTwoNodesAway(t *testing.T) {
	for _, away := range [][2]int{{0, 1}, {3, 4}} {
		redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
			another := sameNodes(t, servers)
			for _, node := range away {
				slow[node].away.Store(true)
			}
			holder := mustAcquire(t, another, "k")
			granted := make(chan *Lease)
			go func() { granted <- mustAcquire(t, r, "k") }()
			time.Sleep(time.Second)
			select {
			case <-granted:
				t.Error("two hold it")
			default:
			}
			mustRelease(t, holder)
			mustRelease(t, <-granted)
			time.Sleep(time.Second)
			if err := servers[2].Set("redlock:k", "a third process"); err != nil { // nobody has a majority: that is no failure of a node
				t.Fatal(err)
			}
			servers[2].SetTTL("redlock:k", time.Second)
			mustRelease(t, mustAcquire(t, r, "k"))
		})
	}
}

// One node more than that, and nobody is granted anything.
func TestRedLockWithThreeNodesAway(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
		for _, node := range slow[2:] {
			node.away.Store(true)
		}
		if _, err := r.Acquire(t.Context(), "k"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		synctest.Wait()
		for _, server := range servers[:2] {
			if server.Exists("redlock:k") {
				t.Error("a node has the key of a try that failed")
			}
		}
	})
}

// A majority that confirms a renewal is enough, and less is not.
func TestRedLockRenewsWithTwoNodesAway(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, _ []*miniredis.Miniredis, slow []*slowNode) {
		lease := mustAcquire(t, r, "k")
		slow[0].away.Store(true)
		slow[1].away.Store(true)
		time.Sleep(3 * DefaultLease)
		if lost := loss(lease.Context()); lost != nil {
			t.Fatalf("it was lost: %v", lost)
		}
		slow[2].away.Store(true)
		went := time.Now()
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, ErrUnreachable) || time.Since(went) > DefaultLease {
			t.Errorf("without a majority it ended after %s with %v, want ErrUnreachable within a lease", time.Since(went), cause)
		}
		_ = lease.Release(t.Context())
	})
}

// Grants of three nodes whose answers are lost would keep everybody from a majority until the lease ends.
func TestRedLockCompensatesWhatItCannotKnow(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
		for _, node := range slow[2:] {
			node.mute.Store(true)
		}
		if _, err := r.Acquire(t.Context(), "k"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		time.Sleep(time.Second) // so that redsync's own releases are lost, too
		for _, node := range slow[2:] {
			node.mute.Store(false)
		}
		began := time.Now()
		mustRelease(t, mustAcquire(t, sameNodes(t, servers), "k"))
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("another process waited %s for what nobody holds", waited)
		}
	})
}

// The nodes have forgotten the key, and granted it again: the first holder renews and releases nobody else's lock.
func TestRedLockLeavesAnothersKeyAlone(t *testing.T) {
	for _, learns := range []string{"when it renews", "when it releases"} {
		redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, _ []*slowNode) {
			lease, another := mustAcquire(t, r, "k"), sameNodes(t, servers)
			synctest.Wait()
			for _, server := range servers {
				server.Del("redlock:k")
			}
			held := mustAcquire(t, another, "k", LeaseFor(time.Minute))
			if learns == "when it renews" {
				<-lease.Context().Done()
			}
			if err := lease.Release(t.Context()); !errors.Is(err, ErrGone) {
				t.Errorf("%s: it was told %v, want ErrGone", learns, err)
			}
			synctest.Wait()
			for i, server := range servers {
				if !server.Exists("redlock:k") {
					t.Errorf("%s: node %d no longer has the other's key", learns, i)
				}
			}
			<-held.Context().Done()
			if cause := context.Cause(held.Context()); !errors.Is(cause, ErrExpired) {
				t.Errorf("a lease that is not renewed ended with %v, want ErrExpired", cause)
			}
			_ = held.Release(t.Context())
		})
	}
}

// Every node is asked and told, although a majority is enough. A node counts the other processes only.
func TestRedLockReleasesAndNotifiesOnEveryNode(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, _ []*slowNode) {
		another := sameNodes(t, servers)
		for _, waiting := range [][]*RedLock{{r}, {r, another}} {
			lease := mustAcquire(t, r, "k")
			synctest.Wait()
			for i, server := range servers {
				if !server.Exists("redlock:k") {
					t.Errorf("node %d was not asked", i)
				}
			}
			var all sync.WaitGroup
			for _, process := range waiting {
				all.Go(func() { mustRelease(t, mustAcquire(t, process, "k")) })
			}
			time.Sleep(time.Second)
			wantListeners(t, lease, len(waiting)-1)
			all.Wait()
			time.Sleep(time.Second)
			for i, server := range servers {
				if server.Exists("redlock:k") {
					t.Errorf("node %d was not told of the release", i)
				}
			}
		}
	})
}

// Nodes know of different listeners. The largest number of a majority counts, whether it is the first of the answers or the last.
func TestRedLockCountsTheOthersOfOneNode(t *testing.T) {
	for _, late := range [][5]time.Duration{{0, 2, 2, 2, 2}, {1, 0, 0, 2, 2}} { // quarters of the timeout; the first node has the listener
		redlockInBubble(t, "publish", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
			listener := inMemory(t, servers[0]).Subscribe(t.Context(), redlockChannel("k"))
			defer listener.Close()
			if _, err := listener.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, node := range slow {
				node.late.Store(int64(late[i] * DefaultNodeTimeout / 4))
			}
			wantListeners(t, mustAcquire(t, r, "k"), 1)
		})
	}
}

// Two nodes did not answer the release, and one had lost the key: the release is repeated.
func TestRedLockRepeatsAReleaseThatIsNotConfirmed(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
		lease := mustAcquire(t, r, "k")
		synctest.Wait()
		servers[0].Del("redlock:k")
		slow[3].mute.Store(true)
		slow[4].mute.Store(true)
		if err := lease.Release(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		slow[3].mute.Store(false)
		slow[4].mute.Store(false)
		time.Sleep(5 * time.Second)
		if servers[3].Exists("redlock:k") || servers[4].Exists("redlock:k") {
			t.Error("a node still has the key")
		}
	})
}

// sameNodes is the lock of one more process.
func sameNodes(t *testing.T, servers []*miniredis.Miniredis) *RedLock {
	t.Helper()
	var clients []redis.UniversalClient
	for _, server := range servers {
		clients = append(clients, inMemory(t, server))
	}
	r, err := NewRedLock(clients, Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A node that is asked late for the key is told of the release later still.
func TestRedLockReleaseDoesNotOvertake(t *testing.T) {
	redlockInBubble(t, "set", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
		slow[1].late.Store(int64(DefaultNodeTimeout / 2)) // it executes the request
		mustRelease(t, mustAcquire(t, r, "k"))
		time.Sleep(2 * time.Second)
		if servers[1].Exists("redlock:k") {
			t.Error("a node has the key of a lock that was released")
		}
	})
}

// A node that hangs has one request under way, a ping, however many callers there are. It is asked again when it answers.
func TestRedLockRequestsDoNotPileUp(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
		slow[4].late.Store(int64(time.Hour))
		mustRelease(t, mustAcquire(t, r, "k"))
		time.Sleep(10 * time.Second) // it is known to hang
		var all sync.WaitGroup
		slow[4].most.Store(0)
		for i := range 100 {
			all.Go(func() { mustRelease(t, mustAcquire(t, r, string(rune('a'+i%26))+string(rune('a'+i/26)))) })
		}
		all.Wait()
		if most := slow[4].most.Load(); most > 1 {
			t.Errorf("%d requests were under way to a node that hangs", most)
		}
		slow[4].late.Store(0)
		time.Sleep(10 * time.Second)
		lease := mustAcquire(t, r, "k")
		time.Sleep(time.Second)
		if !servers[4].Exists("redlock:k") {
			t.Error("a node that answers again is not asked")
		}
		mustRelease(t, lease)
	})
}

// A lease that is held over Close is renewed and released, although three nodes have been late once.
func TestRedLockAsksNodesThatWereLateAfterClose(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, _ []*miniredis.Miniredis, slow []*slowNode) {
		lease := mustAcquire(t, r, "k")
		_ = r.Close()
		for _, node := range slow[2:] {
			node.late.Store(int64(time.Hour))
		}
		time.Sleep(DefaultLease / 2) // it has been renewed in vain
		for _, node := range slow[2:] {
			node.late.Store(0)
		}
		time.Sleep(2 * DefaultLease)
		if lost := loss(lease.Context()); lost != nil {
			t.Errorf("it was lost: %v", lost)
		}
		mustRelease(t, lease)
	})
}

// Two processes that share three nodes between them do not wait for two that hang.
func TestRedLockSplitVotesDoNotWaitForNodesThatHang(t *testing.T) {
	redlockInBubble(t, "set eval publish ping", func(t *testing.T, one *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
		slow[3].late.Store(int64(time.Hour))
		slow[4].late.Store(int64(time.Hour))
		mustRelease(t, mustAcquire(t, one, "k"))
		time.Sleep(10 * time.Second) // they are known to hang
		began := time.Now()
		// Another has one of the three nodes, and keeps it for a second.
		if err := servers[0].Set("redlock:k", "another"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { servers[0].Del("redlock:k") })
		mustRelease(t, mustAcquire(t, one, "k"))
		if waited := time.Since(began); waited > time.Second+longPause {
			t.Errorf("it was granted the lock after %s, want %s at most", waited, time.Second+longPause)
		}
	})
}

// timesOut is a hook: the client cannot connect, and says so without trying.
type timesOut struct {
	slowNode
	pings atomic.Int64
}

func (n *timesOut) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "ping" {
			n.pings.Add(1)
		}
		return &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	}
}

// A node that hangs is pinged with pauses, also when its client fails immediately.
func TestRedLockPingsWithPauses(t *testing.T) {
	inBubble(t, func(t *testing.T, redis *miniredis.Miniredis) {
		hook, c, sessions := new(timesOut), inMemory(t, redis), NewSessions()
		defer sessions.Close()
		c.AddHook(hook)
		n := &node{server{client: c, timeout: 2 * time.Second, sessions: sessions}}
		_ = n.send(func(ctx context.Context) error { return c.Set(ctx, "k", 1, 0).Err() })
		time.Sleep(time.Minute)
		if pings := hook.pings.Load(); pings < 20 || pings > 130 {
			t.Errorf("%d pings in a minute, want about 120", pings)
		}
	})
}
