package runner

import (
	"context"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/loadtest/peers/stats"
)

// emulated is the round trip that the proxy aims at.
const emulated = time.Millisecond

// proxy passes bytes on after a delay, in both directions and in order.
type proxy struct {
	addr   string
	target string
	listen net.Listener
	queue  chan parcel // in the order of arrival; the delay is the same for all, so it is the order of departure
	mu     sync.Mutex
	delay  time.Duration
}

type parcel struct {
	to    net.Conn
	bytes []byte // nil: the other side has closed
	due   time.Time
}

// openDelay starts a proxy to target and sets its delay so that a PING takes as near as possible to
// what is aimed at; it returns what a PING really takes, in µs.
func openDelay(ctx context.Context, target string) (*proxy, float64, error) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	p := &proxy{addr: listen.Addr().String(), target: target, listen: listen, queue: make(chan parcel, 1<<16), delay: emulated / 2}
	go p.accept()
	go p.deliver()
	var us float64
	for range 3 {
		if us, err = roundTrip(ctx, p.addr); err != nil {
			return p, us, err
		}
		p.mu.Lock()
		p.delay -= (time.Duration(us*1e3) - emulated) / 2
		p.mu.Unlock()
	}
	us, err = roundTrip(ctx, p.addr)
	return p, us, err
}

func (p *proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		go p.collect(client, server)
		go p.collect(server, client)
	}
}

func (p *proxy) collect(from, to net.Conn) {
	for {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		p.mu.Lock()
		due := time.Now().Add(p.delay)
		p.mu.Unlock()
		if n > 0 {
			p.queue <- parcel{to, buffer[:n:n], due}
		}
		if err != nil {
			p.queue <- parcel{to, nil, due}
			return
		}
	}
}

// deliver has a thread of its own, for Go's timers wake up to a millisecond late.
func (p *proxy) deliver() {
	runtime.LockOSThread()
	exact()
	for parcel := range p.queue {
		sleep(time.Until(parcel.due))
		if parcel.bytes == nil {
			_ = parcel.to.Close()
		} else {
			_, _ = parcel.to.Write(parcel.bytes)
		}
	}
}

func (p *proxy) close() { _ = p.listen.Close() }

// roundTrip is the median time of a PING, in µs.
func roundTrip(ctx context.Context, addr string) (float64, error) {
	c := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, PoolSize: 1})
	defer c.Close()
	var took []float64
	for range 500 {
		asked := time.Now()
		if err := c.Ping(ctx).Err(); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(asked).Nanoseconds())/1e3)
	}
	return stats.Quantile(took, 0.5), nil
}
