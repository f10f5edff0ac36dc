// Package worker is one process of the load. It opens one lock, of ours or of a peer, and has as many waiters as it is told. Each lock is a
// small file. orders.go describes what the runner and a worker exchange.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	warmWaiters = 32 // goroutines
	warmCycles  = 3  // of each, on a key of its own
)

// Serve executes the orders of in until it ends: one task, or several one after the other.
func Serve(in io.Reader, out io.Writer) error {
	w := &worker{}
	defer w.end()
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var order Order
		if err := orders.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := w.execute(order)
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
	lock    Lock
	closer  func() error
	clients []*redis.Client
	crowd   *crowd
	ctx     context.Context
	cancel  context.CancelFunc
	unlock  func() error // of a hand-over
}

func (w *worker) execute(order Order) (answer Answer, err error) {
	switch order.Do {
	case "prepare":
		w.end()
		err = w.prepare(order.Task)
	case "take":
		w.unlock, err = w.lock(w.ctx, Key(0))
		answer.At = time.Now().UnixNano()
	case "give":
		answer.At = time.Now().UnixNano()
		err = w.unlock()
	case "go":
		time.Sleep(time.Until(time.UnixMicro(order.At)))
		w.crowd.start()
		answer.Result = w.crowd.collect()
	default:
		err = fmt.Errorf("unknown order %q", order.Do)
	}
	return answer, err
}

// prepare opens the lock, warms it up, and makes the waiters.
func (w *worker) prepare(task *Task) error {
	limit := time.Duration(task.Load.Limit) * time.Millisecond
	w.ctx, w.cancel = context.WithTimeout(context.Background(), 2*limit+10*time.Second)
	section := w.client(task.Redis)
	s := clients{redis: section, backend: task.Backend}
	for _, node := range task.Nodes {
		s.nodes = append(s.nodes, w.client(node))
	}
	var err error
	if w.lock, w.closer, err = open(task.Lock, s, max(task.Load.Waiters, warmWaiters)); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if err := w.warm(section); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	w.crowd = newCrowd(task.Load, w.lock, section)
	return nil
}

// client has the app's own settings; see package topology.
func (w *worker) client(addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, PoolSize: 64,
		DialTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, PoolTimeout: 30 * time.Second,
	})
	w.clients = append(w.clients, c)
	return c
}

// warm does what a program that has run for some time has done: connections are open, and scripts are loaded. Then two goroutines contend,
// so that a lock that listens for its release has done so once.
func (w *worker) warm(section *redis.Client) error {
	group, ctx := errgroup.WithContext(w.ctx)
	for i := range warmWaiters {
		group.Go(func() error {
			for _, c := range w.clients {
				if err := c.Ping(ctx).Err(); err != nil {
					return err
				}
			}
			return w.cycles(ctx, section, fmt.Sprintf("peers:warm:%d:%d", os.Getpid(), i))
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, ctx = errgroup.WithContext(w.ctx)
	for range 2 {
		group.Go(func() error { return w.cycles(ctx, section, fmt.Sprintf("peers:warm:%d", os.Getpid())) })
	}
	return group.Wait()
}

func (w *worker) cycles(ctx context.Context, section *redis.Client, key string) error {
	for range warmCycles {
		unlock, err := w.lock(ctx, key)
		if err != nil {
			return err
		}
		if err := errors.Join(increment(ctx, section, key+":value"), unlock()); err != nil {
			return err
		}
	}
	return nil
}

// increment is the section: a read, and a write of what was read plus one. Two simultaneous ones lose one update.
func increment(ctx context.Context, section *redis.Client, key string) error {
	n, err := section.Get(ctx, key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return section.Set(ctx, key, n+1, 0).Err()
}

func (w *worker) end() {
	if w.cancel != nil {
		w.cancel()
	}
	if w.closer != nil {
		_ = w.closer()
	}
	for _, c := range w.clients {
		_ = c.Close()
	}
	*w = worker{}
}
