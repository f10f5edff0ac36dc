package faultproxy

import "time"

// Delay makes each chunk arrive later, by the duration that delay returns. Several goroutines call it, each when it has received a
// chunk. Chunks of one direction of a connection do not overtake each other. nil ends the delay; Mend does not.
func (p *Proxy) Delay(delay func(Chunk) time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// Latency is a fixed delay for each direction.
func Latency(toServer, toClient time.Duration) func(Chunk) time.Duration {
	return func(c Chunk) time.Duration {
		if c.Direction == ToServer {
			return toServer
		}
		return toClient
	}
}

// dueTime is when a chunk that arrives now is delivered.
func (f *flow) dueTime(c Chunk) time.Time {
	f.proxy.mu.Lock()
	delay := f.proxy.delay
	f.proxy.mu.Unlock()
	due := time.Now()
	if delay != nil {
		due = due.Add(delay(c))
	}
	if due.Before(f.due) {
		due = f.due.Add(1)
	}
	return due
}

// sleepUntil returns earlier when the connection is closed.
func (f *flow) sleepUntil(due time.Time) {
	wait := time.Until(due)
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.closed.Done():
	}
}
