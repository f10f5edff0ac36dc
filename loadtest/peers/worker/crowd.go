package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/loadtest/peers/peer"
	"locklab/loadtest/peers/wire"
)

// maxWaits is how many waiting times of one waiter are kept.
const maxWaits = 20_000

// grace is how long after the limit a lock may take to notice that its context has ended.
const grace = 2 * time.Second

// crowd is the waiters of one worker. They exist, and stand at the gate, before the clock starts.
type crowd struct {
	load    wire.Load
	lock    peer.Lock
	section *redis.Client
	waiters []*waiter
	ready   sync.WaitGroup
	gate    chan struct{}
	ended   chan *waiter
	began   time.Time
	until   time.Time // of a load that lasts
	ctx     context.Context
	cancel  context.CancelFunc
}

// waiter is one goroutine. Its counters are read while it may still run; the rest only when it has ended.
type waiter struct {
	done, inTime atomic.Int64
	last         time.Time
	waits        []int
	err          error
}

func newCrowd(load wire.Load, lock peer.Lock, section *redis.Client) *crowd {
	c := &crowd{load: load, lock: lock, section: section, gate: make(chan struct{}), ended: make(chan *waiter, load.Waiters)}
	for range load.Waiters {
		c.waiters = append(c.waiters, &waiter{})
	}
	if load.Kind != wire.Memory { // there, the goroutines are part of what is weighed
		c.spawn()
	}
	return c
}

func (c *crowd) spawn() {
	for i, w := range c.waiters {
		c.ready.Add(1)
		if c.load.Kind == wire.Memory {
			go c.weighed(w)
			continue
		}
		go func() {
			c.ready.Done()
			<-c.gate
			w.err = c.work(w, i%max(1, c.load.Keys))
			w.last = time.Now()
			c.ended <- w
		}()
	}
	c.ready.Wait()
}

// weighed is one section of a waiter whose memory is measured: what is on its stack while it waits is the
// lock's, but for this frame.
func (c *crowd) weighed(w *waiter) {
	c.ready.Done()
	<-c.gate
	asked := time.Now()
	unlock, err := c.lock.Lock(c.ctx, wire.Key(0))
	c.served(w, asked, unlock, err)
}

func (c *crowd) served(w *waiter, asked time.Time, unlock func() error, err error) {
	if err == nil {
		err = c.inside(w, 0, asked, unlock)
	}
	w.err, w.last = err, time.Now()
	c.ended <- w
}

func (c *crowd) start() {
	if c.load.Kind == wire.Memory {
		c.spawn()
	}
	c.began = time.Now()
	c.until = c.began.Add(time.Duration(c.load.Millis) * time.Millisecond)
	c.ctx, c.cancel = context.WithTimeout(context.Background(), time.Duration(c.load.Limit)*time.Millisecond)
	close(c.gate)
}

func (c *crowd) work(w *waiter, key int) error {
	switch c.load.Kind {
	case wire.Uncontended:
		for time.Now().Before(c.until) {
			if err := c.once(w, key); err != nil {
				return err
			}
		}
	case wire.Sustained:
		for time.Now().Before(c.until) {
			if err := c.locked(w, key); err != nil {
				return err
			}
		}
	default:
		for range c.load.Each {
			if err := c.locked(w, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// once locks and unlocks, with nothing between.
func (c *crowd) once(w *waiter, key int) error {
	asked := time.Now()
	unlock, err := c.lock.Lock(c.ctx, wire.Key(key))
	if err != nil {
		return err
	}
	if err := unlock(); err != nil {
		return err
	}
	w.waited(asked)
	w.done.Add(1)
	w.inTime.Add(1)
	return nil
}

// locked does one section under the lock.
func (c *crowd) locked(w *waiter, key int) error {
	asked := time.Now()
	unlock, err := c.lock.Lock(c.ctx, wire.Key(key))
	if err != nil {
		return err
	}
	return c.inside(w, key, asked, unlock)
}

// inside does one section and unlocks.
func (c *crowd) inside(w *waiter, key int, asked time.Time, unlock func() error) error {
	w.waited(asked)
	err := increment(c.ctx, c.section, wire.Value(key))
	if err == nil {
		w.done.Add(1)
		if time.Now().Before(c.until) {
			w.inTime.Add(1)
		}
	}
	if freed := unlock(); err == nil {
		err = freed
	}
	return err
}

func (w *waiter) waited(asked time.Time) {
	if len(w.waits) < maxWaits {
		w.waits = append(w.waits, int(time.Since(asked).Microseconds()))
	}
}

// collect waits for everybody until the limit and a little longer; who is then not back has failed.
func (c *crowd) collect() *wire.Result {
	defer c.cancel()
	result := &wire.Result{}
	timeout := time.After(time.Until(c.began) + time.Duration(c.load.Limit)*time.Millisecond + grace)
	last, back := c.began, 0
	for open := true; open && back < len(c.waiters); {
		select {
		case w := <-c.ended:
			back++
			result.Waits = append(result.Waits, w.waits...)
			if w.last.After(last) {
				last = w.last
			}
			if w.err != nil {
				result.Failed++
				result.Error = w.err.Error()
			}
		case <-timeout:
			open = false
			result.Failed += len(c.waiters) - back
			result.Error = "still waiting after the limit, although the context has ended"
			last = time.Now()
		}
	}
	for _, w := range c.waiters {
		result.Done = append(result.Done, int(w.done.Load()))
		result.InTime = append(result.InTime, int(w.inTime.Load()))
	}
	result.Began, result.Ended = c.began.UnixMicro(), last.UnixMicro()
	return result
}
