package lockstrategy

import (
	"context"
	"net"
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

// slowNode is a hook of a client that makes its node answer late.
type slowNode struct {
	late    atomic.Int64 // how much later a request arrives
	sent    atomic.Int64 // requests under way
	most    atomic.Int64 // at the same time
	command string       // of which; empty: all
}

func (n *slowNode) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (n *slowNode) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (n *slowNode) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		late := time.Duration(n.late.Load())
		if late == 0 || n.command != "" && !strings.HasPrefix(cmd.Name(), n.command) {
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

func redlockInBubble(t *testing.T, command string, f func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var servers []*miniredis.Miniredis
		var clients []redis.UniversalClient
		var slow []*slowNode
		for range 5 {
			server, hook := miniredis.NewMiniRedis(), &slowNode{command: command}
			server.ClockTTL(true)
			defer server.Close()
			client := inMemory(t, server)
			client.AddHook(hook)
			servers, clients, slow = append(servers, server), append(clients, client), append(slow, hook)
		}
		r, err := NewRedLock(clients, RedLockConfig{})
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

// A node that is asked late for the key is told of the release later still.
func TestRedLockReleaseDoesNotOvertake(t *testing.T) {
	redlockInBubble(t, "set", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
		slow[1].late.Store(int64(time.Second))
		mustRelease(t, mustAcquire(t, r, "k"))
		time.Sleep(2 * time.Second)
		if servers[1].Exists("redlock:k") {
			t.Error("a node has the key of a lock that was released")
		}
	})
}

// A node that hangs is asked a limited number of times at once, however many callers there are.
func TestRedLockRequestsDoNotPileUp(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, _ []*miniredis.Miniredis, slow []*slowNode) {
		slow[4].late.Store(int64(time.Hour))
		mustRelease(t, mustAcquire(t, r, "k"))
		time.Sleep(10 * time.Second) // it is known to hang
		var all sync.WaitGroup
		for i := range 10 * mostPending {
			all.Go(func() { mustRelease(t, mustAcquire(t, r, string(rune('a'+i%26))+string(rune('a'+i/26)))) })
		}
		all.Wait()
		if most := slow[4].most.Load(); most > mostPending {
			t.Errorf("%d requests were under way to a node that hangs, want at most %d", most, mostPending)
		}
	})
}
