package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/lockstrategy"
)

// trial is one case at work. Its key is no other case's, for they run at the same time.
type trial struct {
	*testing.T
	backend Backend
	key     string
}

func (c trial) open(s Settings) Client {
	c.Helper()
	client := c.backend.Open(c.T, s)
	if c.backend.Queued != (client.Queue != nil) {
		c.Fatalf("a client has a local queue: %t, and the backend says %t", client.Queue != nil, c.backend.Queued)
	}
	return client
}

// warm lets client send what it sends once: its scripts, and what it asks of a cluster.
func (c trial) warm(client Client) {
	c.Helper()
	c.key += "-warm"
	c.release(c.acquire(client))
}

// pair opens two clients, or the same one twice where processes do not share the lock.
func (c trial) pair(s Settings) (one, two Client) {
	c.Helper()
	one = c.open(s)
	if c.backend.InProcess {
		return one, one
	}
	return one, c.open(s)
}

func (c trial) acquire(s lockstrategy.Strategy, options ...lockstrategy.Option) *lockstrategy.Lease {
	c.Helper()
	return c.acquireUnder(context.Background(), s, options...)
}

func (c trial) acquireUnder(ctx context.Context, s lockstrategy.Strategy, options ...lockstrategy.Option) *lockstrategy.Lease {
	c.Helper()
	lease, err := s.Acquire(ctx, c.key, append(options, lockstrategy.WaitAtMost(timeout))...)
	if err != nil {
		c.Fatalf("acquire: %v", err)
	}
	return lease
}

// grant is what a wait in the background ended with.
type grant struct {
	lease *lockstrategy.Lease
	err   error
}

// wait acquires in the background. The caller takes the grant from the channel, or the case leaves a goroutine.
func (c trial) wait(ctx context.Context, s lockstrategy.Strategy, options ...lockstrategy.Option) <-chan grant {
	granted := make(chan grant, 1)
	go func() {
		lease, err := s.Acquire(ctx, c.key, append(options, lockstrategy.WaitAtMost(timeout))...)
		granted <- grant{lease, err}
	}()
	return granted
}

// granted is the lease of a wait.
func (c trial) granted(waiter <-chan grant) *lockstrategy.Lease {
	c.Helper()
	g := <-waiter
	if g.err != nil {
		c.Fatalf("a waiter was not served: %v", g.err)
	}
	return g.lease
}

// acquireAfter acquires the key of a lease that is to be lost for cause. It demands that this does not succeed before the lease's end.
func (c trial) acquireAfter(lease *lockstrategy.Lease, client Client, cause error) *lockstrategy.Lease {
	c.Helper()
	var next *lockstrategy.Lease
	c.eventually("another has the lock", func() bool {
		var err error
		next, err = client.Acquire(context.Background(), c.key, lockstrategy.WaitAtMost(timeout))
		if err != nil && !errors.Is(err, lockstrategy.ErrUnavailable) { // a lease that ends soon leaves a busy server little time to answer
			c.Fatalf("acquire: %v", err)
		}
		return err == nil
	})
	if early := time.Until(lease.Until()); early > 0 {
		c.Errorf("another has the lock %s before the lease ends", early)
	}
	c.lost(lease, cause)
	return next
}

func (c trial) release(lease *lockstrategy.Lease) {
	c.Helper()
	if err := lease.Release(context.Background()); err != nil {
		c.Fatalf("release: %v", err)
	}
}

// bounded is for a wait that another bound should end before.
func (c trial) bounded() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	c.Cleanup(cancel)
	return ctx
}

// tryOnce makes one attempt. One that waits nevertheless does not do so for ever.
func (c trial) tryOnce(ctx context.Context, client Client) (*lockstrategy.Lease, error) {
	return client.Acquire(ctx, c.key, lockstrategy.TryOnce(), lockstrategy.WaitAtMost(timeout))
}

// free demands that nobody has the key, for client.
func (c trial) free(client Client) {
	c.Helper()
	lease, err := c.tryOnce(context.Background(), client)
	if err != nil {
		c.Fatalf("the key is not free: %v", err)
	}
	c.release(lease)
}

// grantedAgain waits until a client whose way to the server was mended is granted the key, and gives it back.
func (c trial) grantedAgain(client Client) {
	c.Helper()
	c.eventually("it is granted the key again", func() bool {
		lease, err := client.Acquire(c.bounded(), c.key)
		return err == nil && lease.Release(context.Background()) == nil
	})
}

// taken demands that another than client has the key, or another of its callers.
func (c trial) taken(client Client) {
	c.Helper()
	_, err := c.tryOnce(context.Background(), client)
	if !errors.Is(err, lockstrategy.ErrTaken) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
		c.Fatalf("a key that is held: got %v, want ErrTaken and ErrNotAcquired", err)
	}
	c.knowsHolder(err)
}

// knowsHolder demands that an error says what the attempt has learned of the holder.
func (c trial) knowsHolder(err error) {
	c.Helper()
	if !errors.As(err, new(lockstrategy.OtherHolder)) {
		c.Errorf("%v does not wrap an OtherHolder", err)
	}
}

// lost waits until lease is lost, demands the cause, and releases it.
func (c trial) lost(lease *lockstrategy.Lease, cause error) {
	c.Helper()
	select {
	case <-lease.Context().Done():
	case <-time.After(timeout):
		c.Fatal("the lease's context did not end")
	}
	if got := context.Cause(lease.Context()); !errors.Is(got, cause) || !errors.Is(got, lockstrategy.ErrLost) {
		c.Errorf("the lease's context ended with %q, want %q", got, cause)
	}
	if err := lease.Release(context.Background()); !errors.Is(err, cause) {
		c.Errorf("the release of a lost lease returned %v, want %q", err, cause)
	}
}

// standing is how many entries the server has under the key; without a server none.
func (c trial) standing() int {
	c.Helper()
	if c.backend.Server == nil {
		return 0
	}
	return len(c.backend.Server.Entries(c.T, c.key))
}

// eventually asks until ok reports true.
func (c trial) eventually(what string, ok func() bool) {
	c.Helper()
	pause := time.Millisecond
	for began := time.Now(); !ok(); time.Sleep(pause) {
		pause = min(2*pause, 8*time.Millisecond)
		if time.Since(began) > timeout {
			c.Fatalf("it did not happen: %s", what)
		}
	}
}

// waitQueued is wait, and returns when the caller stands in client's queue.
func (c trial) waitQueued(ctx context.Context, client Client, options ...lockstrategy.Option) <-chan grant {
	c.Helper()
	before := client.Queue.Waiting()
	granted := c.wait(ctx, client, options...)
	c.eventually("the caller is in the queue", func() bool { return client.Queue.Waiting() > before })
	return granted
}

// waitListening is wait, and returns when the caller is subscribed to releases. Where that cannot be asked, it has tried
// once more then.
func (c trial) waitListening(ctx context.Context, client Client) <-chan grant {
	c.Helper()
	listening, before := 0, client.Sent()
	if c.backend.Server.Listening != nil {
		listening = c.backend.Server.Listening(c.T, c.key)
	}
	granted := c.wait(ctx, client)
	c.eventually("the caller listens", func() bool {
		if c.backend.Server.Listening != nil {
			return c.backend.Server.Listening(c.T, c.key) > listening
		}
		return client.Sent() >= before+2
	})
	return granted
}
