package lockstrategy

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// stopped is a hook of the clients of a server that can be stopped, as by SIGSTOP. Such a server answers nothing and keeps each request.
// When it goes on, it executes all of them.
type stopped struct {
	mu   sync.Mutex
	on   bool
	over chan struct{}
	kept []func()
}

func (s *stopped) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (s *stopped) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *stopped) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.mu.Lock()
		on, over := s.on, s.over
		if on {
			s.kept = append(s.kept, func() { _ = next(context.Background(), redis.NewCmd(context.Background(), cmd.Args()...)) })
		}
		s.mu.Unlock()
		if !on {
			return next(ctx, cmd)
		}
		select {
		case <-over:
			return next(ctx, cmd) // once more: its first execution has changed everything already
		case <-ctx.Done():
			cmd.SetErr(ctx.Err())
			return ctx.Err()
		}
	}
}

func (s *stopped) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on, s.over, s.kept = true, make(chan struct{}), nil
}

// goOn executes what the server has kept, and then what is sent. It returns how many requests that were.
func (s *stopped) goOn() (requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, execute := range s.kept {
		execute()
	}
	s.on = false
	close(s.over)
	return len(s.kept)
}

// stoppable is the lock of one more process. Its servers can be stopped.
func stoppable(t *testing.T, servers []*miniredis.Miniredis, hooks []*stopped) (s Strategy, end func() error) {
	t.Helper()
	var clients []redis.UniversalClient
	for i, server := range servers {
		c := inMemory(t, server)
		c.AddHook(hooks[i])
		clients = append(clients, c)
	}
	if len(servers) == 1 {
		r, err := NewRedis(clients[0], Timing{})
		if err != nil {
			t.Fatal(err)
		}
		return r, r.Close
	}
	r, err := NewRedLock(clients, Timing{})
	if err != nil {
		t.Fatal(err)
	}
	return r, r.Close
}

// Servers stop while a process acquires, for much longer than its lease, and go on. They execute its request then, although nobody waits
// for it. Meanwhile they were sent nothing else but pings, however often it was tried. The key is free again within the time of a ping.
func TestAServerThatHangsForLongerThanALease(t *testing.T) {
	t.Run("v3", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { hangsForLong(t, 1, 2*time.Second) })
	})
	t.Run("v4", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { hangsForLong(t, 5, DefaultNodeTimeout) })
	})
}

func hangsForLong(t *testing.T, nodes int, request time.Duration) {
	var servers []*miniredis.Miniredis
	var hooks []*stopped
	for range nodes {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true)
		defer server.Close()
		servers, hooks = append(servers, server), append(hooks, new(stopped))
	}
	one, endOne := stoppable(t, servers, hooks)
	two, endTwo := stoppable(t, servers, hooks)
	for _, s := range []Strategy{one, two} { // the scripts are in the servers
		mustRelease(t, mustAcquire(t, s, "k"))
	}
	synctest.Wait() // no release is under way
	for _, h := range hooks {
		h.stop()
	}
	tries := 0
	for began := time.Now(); time.Since(began) < 10*time.Minute; tries++ {
		if _, err := one.Acquire(t.Context(), "k", TryOnce()); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v, want ErrUnavailable", err)
		}
		time.Sleep(time.Second)
	}
	pings := int(10 * time.Minute / (request + request/4))
	for _, h := range hooks {
		if kept := h.goOn(); kept > pings+10 {
			t.Errorf("%d tries left %d requests in a server, want those of the first try and about %d pings", tries, kept, pings)
		}
	}
	went := time.Now()
	lease := mustAcquire(t, two, "k")
	if took := time.Since(went); took > time.Second {
		t.Errorf("the key was free %s after the servers went on; a lease has %s", took, DefaultLease)
	}
	mustRelease(t, lease)
	if err := errors.Join(endOne(), endTwo()); err != nil {
		t.Error(err)
	}
}
