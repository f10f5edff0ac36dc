package lockstrategy_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
)

// A lease of ten minutes would hide nothing: who waits for its end does not see these tests' end.
const long = 10 * time.Minute

// A release that the server did not get is repeated until it does.
func TestReleaseIsRepeated(t *testing.T) {
	node, wire := testenv.Redis(t, false), new(wire)
	admin, key := client(t, node.Addr), "lock:pview"
	lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: client(t, wire.to(t, node.Addr)), Lease: long})
	lease, err := lock.Acquire(testenv.Context(t), key)
	if err != nil {
		t.Fatal(err)
	}
	wire.cut()
	if err := lease.Release(testenv.Context(t)); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("the wire is cut, and release says %v", err)
	}
	if admin.Exists(t.Context(), key).Val() != 1 {
		t.Fatal("the wire is cut, and the lock is free")
	}
	wire.mend()
	testenv.Eventually(t, "the lock is free", func() bool { return admin.Exists(t.Context(), key).Val() == 0 })
}

// What was acquired by a request whose answer got lost is released as soon as the server can be reached.
func TestAnUnansweredAcquireIsUndone(t *testing.T) {
	node, wire := testenv.Redis(t, false), new(wire)
	admin, key := client(t, node.Addr), "lock:pview"
	lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: client(t, wire.to(t, node.Addr)), Lease: long})
	warm, err := lock.Acquire(testenv.Context(t), "another") // the script is known, so that one request does it
	if err != nil {
		t.Fatal(err)
	}
	if err := warm.Release(testenv.Context(t)); err != nil {
		t.Fatal(err)
	}
	wire.loseNextAnswer()
	if _, err := lock.Acquire(testenv.Context(t), key); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("the answer got lost, and acquire says %v", err)
	}
	if admin.Exists(t.Context(), key).Val() != 1 {
		t.Fatal("the request was not executed: nothing is tested")
	}
	wire.mend()
	testenv.Eventually(t, "the lock is free", func() bool { return admin.Exists(t.Context(), key).Val() == 0 })
}

// wire passes connections on until it is cut.
type wire struct {
	off  atomic.Bool // connections end as soon as they begin
	lose atomic.Bool // the next answer ends its connection instead, and cuts the wire
	mu   sync.Mutex
	ends []net.Conn
}

func (w *wire) to(t *testing.T, addr string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { listener.Close(); w.cut(); running.Wait() })
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil || w.off.Load() {
				near.Close()
				continue
			}
			w.mu.Lock()
			w.ends = append(w.ends, near, far)
			w.mu.Unlock()
			running.Go(func() { io.Copy(far, near); far.Close() })
			running.Go(func() { w.answers(near, far) })
		}
	})
	return listener.Addr().String()
}

// answers passes on what the server says.
func (w *wire) answers(near, far net.Conn) {
	defer near.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := far.Read(buffer)
		if err != nil {
			return
		}
		if w.lose.CompareAndSwap(true, false) {
			w.cut()
			return
		}
		if _, err := near.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (w *wire) loseNextAnswer() { w.lose.Store(true) }

func (w *wire) mend() { w.off.Store(false) }

func (w *wire) cut() {
	w.off.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range w.ends {
		end.Close()
	}
}
