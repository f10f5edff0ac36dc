package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxWaits = 20_000          // waiting times of one waiter that are kept
	grace    = 2 * time.Second // from the limit until a lock must have noticed that its context has ended
)

// crowd is the waiters of one worker. They exist before the clock starts.
type crowd struct {
	load    Load
	lock    Lock
	section *redis.Client
	waiters []*waiter
	started chan struct{} // closed when the clock starts
	ended   chan *waiter
	began   time.Time
	until   time.Time // end of a load that lasts
	ctx     context.Context
	cancel  context.CancelFunc
}

// waiter is one goroutine. Its counters are read while it may still run, the rest only after its end.
type waiter struct {
	done, inTime atomic.Int64
	last         time.Time
	waits        []int
	err          error
}

func newCrowd(load Load, lock Lock, section *redis.Client) *crowd {
	c := &crowd{load: load, lock: lock, section: section, started: make(chan struct{}), ended: make(chan *waiter, load.Waiters)}
	for i := range load.Waiters {
		w := &waiter{}
		c.waiters = append(c.waiters, w)
		go c.run(w, i%max(1, load.Keys))
	}
	return c
}

func (c *crowd) start() {
	c.began = time.Now()
	c.until = c.began.Add(time.Duration(c.load.Millis) * time.Millisecond)
	c.ctx, c.cancel = context.WithTimeout(context.Background(), time.Duration(c.load.Limit)*time.Millisecond)
	close(c.started)
}

// run is a waiter.
func (c *crowd) run(w *waiter, key int) {
	<-c.started
	for more := true; more; {
		asked := time.Now()
		unlock, err := c.lock(c.ctx, Key(key))
		more = c.granted(w, key, asked, unlock, err)
	}
	c.ended <- w
}

// granted does the section and unlocks. It reports whether the waiter locks again.
func (c *crowd) granted(w *waiter, key int, asked time.Time, unlock func() error, err error) bool {
	at := time.Now()
	switch {
	case err != nil:
	case c.load.Kind == Uncontended:
		err = unlock()
		at = time.Now()
		w.count(err, true)
	default:
		err = increment(c.ctx, c.section, Value(key))
		w.count(err, time.Now().Before(c.until))
		if unlocked := unlock(); err == nil {
			err = unlocked
		}
	}
	w.last, w.err = time.Now(), err
	if err == nil && len(w.waits) < maxWaits {
		w.waits = append(w.waits, int(at.Sub(asked).Microseconds()))
	}
	if c.load.Kind == Burst {
		return err == nil && int(w.done.Load()) < c.load.Each
	}
	return err == nil && w.last.Before(c.until)
}

// count counts a section that did not fail.
func (w *waiter) count(err error, inTime bool) {
	if err == nil {
		w.done.Add(1)
	}
	if err == nil && inTime {
		w.inTime.Add(1)
	}
}

// collect waits for all waiters until the limit and a little longer; a waiter that has not ended then has failed.
func (c *crowd) collect() *Result {
	defer c.cancel()
	result := &Result{}
	timeout := time.After(time.Until(c.began) + time.Duration(c.load.Limit)*time.Millisecond + grace)
	last := c.began
	for ended := 0; ended < len(c.waiters); ended++ {
		select {
		case w := <-c.ended:
			result.Waits = append(result.Waits, w.waits...)
			if w.last.After(last) {
				last = w.last
			}
			if w.err != nil {
				result.Failed++
				result.Error = w.err.Error()
			}
		case <-timeout:
			result.Failed += len(c.waiters) - ended
			result.Error = "still waiting after the limit, although the context has ended"
			last, ended = time.Now(), len(c.waiters)
		}
	}
	for _, w := range c.waiters {
		result.Done = append(result.Done, int(w.done.Load()))
		result.InTime = append(result.InTime, int(w.inTime.Load()))
	}
	result.Began, result.Ended = c.began.UnixMicro(), last.UnixMicro()
	return result
}
