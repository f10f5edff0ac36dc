package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"sync"
	"time"

	"locklab/internal/faultproxy"
)

// beginning is how much of a message is the same in each run of a program: the command and the name of its script.
// Its name is a hash of the script. So a seed means another run when a script has changed.
const beginning = 48

// network is the fault proxy between a process and the server. Each message takes its time.
//
// Greetings take no time; scripts, their replies and messages of subscriptions do. go-redis waits for the reply to a greeting with
// a mutex locked. In a bubble no time passes while a goroutine waits for a mutex.
type network struct {
	*faultproxy.Proxy
	seed string

	mu       sync.Mutex
	cutUntil time.Time
	slow     time.Duration // how much later the replies to scripts arrive,
	late     time.Duration // or the scripts themselves, although their sender closes before,
	until    time.Time     // until this time
	calm     bool          // nothing takes time
}

func newNetwork(server func() (net.Conn, error), seed uint64, process int) *network {
	n := &network{seed: fmt.Sprint(seed, "/", process)}
	n.Proxy = faultproxy.New(func(context.Context) (net.Conn, error) {
		if n.isCut() {
			return nil, errors.New("the network is cut")
		}
		return server()
	})
	n.Label = workLabel
	n.Delay(n.delay)
	return n
}

func (n *network) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.cutUntil)
}

// works is the label of a connection on which more than greetings was sent.
const works = "works"

func workLabel(label string, request []byte) string {
	if isScript(request) || bytes.Contains(request, []byte("subscribe")) {
		return works
	}
	return label
}

func isScript(request []byte) bool {
	return bytes.Contains(bytes.ToLower(request[:min(len(request), beginning)]), []byte("eval"))
}

// delay is how long a message takes.
func (n *network) delay(c faultproxy.Chunk) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.Label != works || n.calm {
		return 0
	}
	now := time.Now()
	d := 50*time.Microsecond + n.random(now, c)
	switch {
	case !now.Before(n.until):
	case c.Direction == faultproxy.ToClient:
		d += n.slow
	case isScript(c.Data):
		d += n.late
	}
	return d
}

// random follows from what is sent, when, and by which process. It does not follow from the connection, which the scheduler chooses.
// It does not follow from what comes after a message's beginning, such as the random names of processes.
func (n *network) random(now time.Time, c faultproxy.Chunk) time.Duration {
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, n.seed, c.Direction == faultproxy.ToServer, now.UnixNano(), len(c.Data), " ")
	_, _ = hash.Write(c.Data[:min(len(c.Data), beginning)])
	return time.Duration(hash.Sum64() % uint64(time.Millisecond))
}

// cut closes all connections, and makes no new ones for d.
func (n *network) cut(d time.Duration) {
	n.mu.Lock()
	n.cutUntil = time.Now().Add(d)
	n.mu.Unlock()
	n.Reset()
}

// loseReply loses the next reply, and closes its connection.
func (n *network) loseReply() {
	n.LoseReply(func(c faultproxy.Chunk) bool { return c.Label == works }, nil)
}

// slowDown makes replies or scripts later, for as long as they are late.
func (n *network) slowDown(slow, late time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow, n.late = slow, late
	n.until = time.Now().Add(max(slow, late))
}

// mend ends all faults, and in the end all delay.
func (n *network) mend(calm bool) {
	n.mu.Lock()
	n.cutUntil, n.until, n.calm = time.Time{}, time.Time{}, calm
	n.mu.Unlock()
	n.Mend()
}
