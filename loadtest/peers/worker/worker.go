// Package worker is one process of the load: it holds one lock of one kind and as many waiters as it is told. What it is told
// and what it answers is in package wire.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/loadtest/peers/peer"
	"locklab/loadtest/peers/wire"
)

// settle is how long the waiters of the memory load are given to wait before they are weighed.
const settle = 1500 * time.Millisecond

// Serve obeys the orders on in until it ends. For one task, or several in a row.
func Serve(in io.Reader, out io.Writer) error {
	w := &worker{}
	defer w.end()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var order wire.Order
		if err := orders.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := w.obey(order)
		if err != nil {
			answer.Error = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

// worker is what one task has opened.
type worker struct {
	load    wire.Load
	lock    peer.Lock
	clients []*redis.Client
	crowd   *crowd
	ctx     context.Context
	cancel  context.CancelFunc
	unlock  func() error // hand-over and memory: what give gives back
}

func (w *worker) obey(order wire.Order) (wire.Answer, error) {
	switch order.Do {
	case "prepare":
		w.end()
		return wire.Answer{}, w.prepare(order.Task)
	case "take":
		return w.take()
	case "give":
		at := time.Now()
		return wire.Answer{At: at.UnixNano()}, w.unlock()
	case "go":
		time.Sleep(time.Until(time.UnixMicro(order.At)))
		if w.load.Kind == wire.Memory {
			return w.weigh(), nil
		}
		w.crowd.start()
		return wire.Answer{Result: w.crowd.collect()}, nil
	case "collect":
		return wire.Answer{Result: w.crowd.collect()}, nil
	}
	return wire.Answer{}, fmt.Errorf("unknown order %q", order.Do)
}

// prepare opens the lock, warms it up, and has the waiters ready.
func (w *worker) prepare(task *wire.Task) error {
	w.load = task.Load
	limit := time.Duration(task.Load.Limit) * time.Millisecond
	w.ctx, w.cancel = context.WithTimeout(context.Background(), 2*limit+10*time.Second)
	section := w.client(task.Redis)
	servers := peer.Servers{Redis: section, Addr: task.Redis, Etcd: task.Etcd}
	for _, node := range task.Nodes {
		servers.Nodes = append(servers.Nodes, w.client(node))
	}
	var err error
	if w.lock, err = peer.Open(w.ctx, task.Lock, servers, max(task.Load.Waiters, warmWaiters)); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if err := warm(w.ctx, w.lock, section, w.clients); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	w.crowd = newCrowd(w.load, w.lock, section)
	return nil
}

// client has the app's own settings; see topology.
func (w *worker) client(addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, PoolSize: 64,
		DialTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, PoolTimeout: 30 * time.Second,
	})
	w.clients = append(w.clients, c)
	return c
}

// take locks the first key and says when it was granted.
func (w *worker) take() (wire.Answer, error) {
	var err error
	if w.unlock, err = w.lock.Lock(w.ctx, wire.Key(0)); err != nil {
		return wire.Answer{}, err
	}
	return wire.Answer{At: time.Now().UnixNano()}, nil
}

// weigh starts the waiters and compares what is in use with what was before.
func (w *worker) weigh() wire.Answer {
	before := inUse()
	w.crowd.start()
	time.Sleep(settle)
	return wire.Answer{Before: before, Bytes: inUse()}
}

// inUse is the memory of heap and stacks that something refers to.
func inUse() int64 {
	var m runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func (w *worker) end() {
	if w.cancel != nil {
		w.cancel()
	}
	if w.lock != nil {
		_ = w.lock.Close()
	}
	for _, c := range w.clients {
		_ = c.Close()
	}
	*w = worker{}
}
