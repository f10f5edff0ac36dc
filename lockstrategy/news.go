package lockstrategy

import (
	"sync"
	"sync/atomic"
)

// heard is what an ear has heard since it was last asked.
type heard uint32

const (
	began  heard = 1 << iota // listening has begun, or begun again: whatever was told before it is lost
	freed                    // the lock is free for whoever comes first
	called                   // it is free, and kept for this process
	passed                   // it is free, and kept for another process
	over                     // listening has ended for good; this is not forgotten
)

// ear listens to one channel. Its ring receives when it has heard something.
type ear struct {
	channel string
	ring    chan struct{}
	what    atomic.Uint32
}

func newEar(channel string) *ear { return &ear{channel: channel, ring: make(chan struct{}, 1)} }

// take returns what was heard, and forgets it.
func (e *ear) take() heard {
	select {
	case <-e.ring:
	default:
	}
	return heard(e.what.And(uint32(over)))
}

// over reports whether there will be nothing to hear any more.
func (e *ear) over() bool { return heard(e.what.Load())&over != 0 }

func (e *ear) hear(what heard) {
	e.what.Or(uint32(what))
	select {
	case e.ring <- struct{}{}:
	default: // it rings already
	}
}

// news is how a process hears that locks were freed: over one connection for all plain channels, over
// one for each sharded channel, because those may live on different servers, and move.
//
// Nothing is guaranteed: a message may be lost while a connection is down. Every start of a
// subscription is heard as such.
type news struct {
	client  RedisClient
	process string // as it is called

	mu       sync.Mutex
	channels map[string]*channel // those with ears
	shared   *line               // of the plain channels; nil until there is one
	closed   bool
	running  sync.WaitGroup
}

type channel struct {
	ears    map[*ear]struct{}
	line    *line
	hearing bool // the server has confirmed the subscription
	skip    bool // the next "free" goes with a call that was heard
}

func newNews(client RedisClient, process string) *news {
	return &news{client: client, process: process, channels: make(map[string]*channel)}
}

// join gives e its channel. It hears "began" soon. leave must be called; neither blocks.
func (n *news) join(e *ear, sharded bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		e.hear(over)
		return
	}
	c := n.channels[e.channel]
	if c == nil {
		c = &channel{ears: make(map[*ear]struct{}), line: n.lineLocked(e.channel, sharded)}
		n.channels[e.channel] = c
		c.line.announce()
	}
	c.ears[e] = struct{}{}
	if c.hearing {
		e.hear(began)
	}
}

func (n *news) leave(e *ear) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.channels[e.channel]
	if c == nil {
		return
	}
	if delete(c.ears, e); len(c.ears) > 0 {
		return
	}
	delete(n.channels, e.channel)
	if c.line != n.shared {
		c.line.stop()
		return
	}
	c.line.announce()
}

// hearing is how many ears of this process a message on a channel reaches as the server counts them: 1 or 0.
func (n *news) hearing(name string) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.channels[name]; c != nil && c.hearing {
		return 1
	}
	return 0
}

// tell passes on a message that l has heard. A line that is ending may hear what is another's by now.
func (n *news) tell(l *line, name, message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.channels[name]
	if c == nil || c.line != l {
		return
	}
	what := passed
	switch {
	case message == "0" && c.skip:
		c.skip = false
		return
	case message == "0":
		what = freed
	case message == n.process:
		what = called
	}
	c.skip = what != freed
	for e := range c.ears {
		e.hear(what)
	}
}

// confirmed passes on that a subscription of l has begun.
func (n *news) confirmed(l *line, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.channels[name]; c != nil && c.line == l {
		c.hearing, c.skip = true, false
		for e := range c.ears {
			e.hear(began)
		}
	}
}

// deaf notes that nothing is heard on l's channels until they are confirmed anew.
func (n *news) deaf(l *line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.channels {
		if c.line == l {
			c.hearing = false
		}
	}
}

// over reports whether it has been stopped.
func (n *news) over() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// stop ends the connections. Every ear hears that it is over.
func (n *news) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, c := range n.channels {
		c.line.stop()
		for e := range c.ears {
			e.hear(over)
		}
	}
	if n.shared != nil {
		n.shared.stop()
	}
}

// close stops, and waits until the connections' goroutines have ended.
func (n *news) close() error {
	n.stop()
	n.running.Wait()
	return nil
}
