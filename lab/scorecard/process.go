package scorecard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// process is one copy of the program. Its servers are behind proxies of its own, so that a fault of its connections affects no other copy.
type process struct {
	*clients.Program
	bench *bench
	wires []*servers.Proxy
	named string // how its packets name the key

	unanswered atomic.Int64 // requests of a crowd
}

// start starts a copy of the program, behind the words of a command that starts it, and connects it.
func (b *bench) start(ctx context.Context, name string, command ...string) *process {
	copied, claims, err := clients.Launch(ctx, b.Trial, name, func(process string) (*servers.Dialogue, error) {
		return b.Stack.Program(process, slices.Concat(command, b.program.Argv)...)
	})
	if err == nil {
		err = b.program.sameAs(claims)
	}
	if copied != nil {
		b.processes = append(b.processes, copied)
	}
	b.mustBegin(err)
	near, wires := b.servers.OverProxies()
	b.Cleanup(func() error {
		if lines := copied.Stderr(); len(lines) > 0 {
			b.Record(history.Event{Timeline: name, Kind: history.Note, Name: stderr, Text: strings.Join(lines, "\n")})
		}
		return nil
	})
	ready, err := copied.Connect(ctx, near.Addrs, b.lease)
	b.mustBegin(err)
	return &process{Program: copied, bench: b, wires: wires, named: cmp.Or(ready.Key, key)}
}

// mustBegin ends the trial with err, unless that is nil. When no copy was granted a lock yet, nothing can be tried, and the run ends.
func (b *bench) mustBegin(err error) {
	if run := b.program.run; err != nil && !run.granted.Load() {
		why := ProgramError{Why: "no lock was granted: " + err.Error()}
		if errors.Is(err, clients.ErrSilent) {
			why.Why += "; does it flush its stdout after each line?"
		}
		for _, p := range b.processes {
			why.Stderr = append(why.Stderr, p.Stderr()...)
		}
		run.stop(why)
	}
	b.Must(err)
}

// stderr is the name of the event with the last lines that a copy has written there.
const stderr = "stderr"

// holder is a copy of the program that says it holds a key.
type holder = clients.ProcessHolder

// request requests a key, and returns what waits for the answer: see [clients.Program.Begin].
func (p *process) request(key string, wait time.Duration) (granted func(context.Context) (*holder, error)) {
	answer := p.Begin(key, wait)
	return func(ctx context.Context) (*holder, error) {
		h, err := answer(ctx)
		if err == nil {
			p.bench.program.run.granted.Store(true)
		}
		return h, err
	}
}

// begin is request, where a refusal is no error: nil.
func (p *process) begin(key string, wait time.Duration) (granted func(context.Context) (*holder, error)) {
	answer := p.request(key, wait)
	return func(ctx context.Context) (*holder, error) {
		h, err := answer(ctx)
		if errors.Is(err, clients.ErrRefused) {
			err = nil
		}
		return h, err
	}
}

// acquire requests the key. nil: it is not granted within wait. An error in place of an answer ends the trial, unless a fault has hit the
// copy.
func (p *process) acquire(ctx context.Context, wait time.Duration) *holder {
	return p.acquireKey(ctx, key, wait)
}

// acquireKey is acquire for another key.
func (p *process) acquireKey(ctx context.Context, key string, wait time.Duration) *holder {
	h, err := p.begin(key, wait)(ctx)
	if !p.Hit || !errors.Is(err, clients.ErrAnswer) {
		p.Must(err)
	}
	return h
}

// mustKeep ends the trial when a lock is not renewed and its lease may have been over at a moment. Then another grant is no violation.
func (b *bench) mustKeep(h *holder, at time.Time) {
	if !b.program.Claims.Renews && h.MayHaveEnded(at) {
		b.Must(errors.New("the lease of the holder ended before the end of the trial: this machine is too slow, or a wait of the program " +
			"is longer than wait_ms; run it again"))
	}
}

// mustFollow demands that the next grant came after the holder was asked to release the lock.
func (b *bench) mustFollow(h, next *holder, released time.Time) {
	if at := next.Granted; at.Before(released) {
		b.mustKeep(h, at)
		b.violates(next.Name, "was granted a key that %s holds", h.Name)
	}
}

// holds acquires a key that is free: a refusal ends the trial.
func (p *process) holds(ctx context.Context, key string) *holder {
	h, err := p.settle(ctx, key)
	if err != nil {
		err = fmt.Errorf("%s was not granted a key that is free: %w", p.Name, err)
	}
	p.bench.mustBegin(err)
	return h
}

// settle insists on a key for as long as a lease and some time more.
func (p *process) settle(ctx context.Context, key string) (*holder, error) {
	return p.insist(ctx, key, p.bench.settling(), clients.ErrRefused, clients.ErrAnswer)
}

// insist requests a key until it is granted, for a while, and again after some errors. The last request's error is that of the call. A
// refusal is not the last word: some locks do not wait. After a fault of a server a copy may have lost its connection, which is an error.
func (p *process) insist(ctx context.Context, key string, wait time.Duration, again ...error) (*holder, error) {
	for deadline := time.Now().Add(wait); ; pause(ctx, p.Lease/20) {
		h, err := p.request(key, max(0, time.Until(deadline)))(ctx)
		failed := slices.ContainsFunc(again, func(one error) bool { return errors.Is(err, one) })
		if !failed || time.Now().After(deadline) {
			return h, err
		}
	}
}

// release releases a lock, and reports whether the holder says that it did.
func release(ctx context.Context, h clients.Holder) bool { return h.TryRelease(ctx) == nil }

// cut closes connections of a copy, and new ones, until mend.
func (p *process) cut(ctx context.Context, wires ...*servers.Proxy) {
	p.Hit = true
	for _, w := range wires {
		p.Fault(p.Name, "connections closed", clients.EndProxy(ctx, p.Trial, w))
	}
}

func (p *process) mend() {
	p.Heal(p.Name, "connections pass")
	for _, w := range p.wires {
		w.Mend()
	}
}

// hang lets nothing arrive, at a copy or its servers, until mend. Connections stay open.
func (p *process) hang() {
	p.Hit = true
	for _, w := range p.wires {
		w.Hang()
		p.Fault(p.Name, "no answers", "the proxy delivers nothing in either direction")
	}
}

// forget lets the connections of a copy carry nothing more. New ones do.
func (p *process) forget() {
	p.Hit = true
	for _, w := range p.wires {
		if n := w.DropExisting(); n > 0 {
			p.Fault(p.Name, "connections forgotten", fmt.Sprintf("the proxy drops what %d connections carry, and tells nobody", n))
		}
	}
}

// names reports whether a packet of a copy is a request that names the key.
func (p *process) names(request faultproxy.Chunk) bool {
	return faultproxy.NoGreeting(request) && bytes.Contains(request.Data, []byte(p.named))
}

// holdBack keeps back what a copy sends to each of its servers, after so many packets that match accepts, until pass. held is closed when
// there was such a packet.
func (p *process) holdBack(packets int, match func(faultproxy.Chunk) bool) (held <-chan struct{}, pass func()) {
	p.Hit = true
	return p.hold(func(w *servers.Proxy) (<-chan struct{}, func()) {
		n := 0
		return w.Hold(func(c faultproxy.Chunk) bool {
			if c.Direction == faultproxy.ToClient || !match(c) {
				return false
			}
			n++
			return n > packets
		})
	})
}

// namesFrom returns what reports whether a packet is a request that names the key, and the nth such one or a later one.
func (p *process) namesFrom(nth int) func(request faultproxy.Chunk) bool {
	n := 0
	return func(request faultproxy.Chunk) bool {
		if p.names(request) {
			n++
		}
		return n >= nth && p.names(request)
	}
}

// holdReply keeps back what each server replies to the nth request of a copy from now on that names the key, until pass. held is closed
// when there was such a request.
func (p *process) holdReply(nth int) (held <-chan struct{}, pass func()) {
	p.Hit = true
	return p.hold(func(w *servers.Proxy) (<-chan struct{}, func()) { return w.HoldReply(p.namesFrom(nth)) })
}

// hold begins a hold on each server of a copy. held is closed when one of them keeps something back.
func (p *process) hold(begin func(*servers.Proxy) (held <-chan struct{}, pass func())) (held <-chan struct{}, pass func()) {
	first, ended := make(chan struct{}), make(chan struct{})
	once := sync.Once{}
	var all []func()
	for _, w := range p.wires {
		held, pass := begin(w)
		all = append(all, pass)
		go func() {
			select {
			case <-held:
				once.Do(func() { close(first) })
			case <-ended:
			}
		}()
	}
	pass = sync.OnceFunc(func() {
		close(ended)
		for _, one := range all {
			one()
		}
	})
	p.Cleanup(func() error { pass(); return nil })
	return first, pass
}

const replyLost = "reply lost"

// loseReply loses the reply to the nth request of a copy from now on that names the key, on each of its servers. The server executes the
// request. The returned function ends the trial when there was no first request. A program may answer the lab before its server has
// answered.
func (p *process) loseReply(nth int) (mustBeLost func()) {
	p.Hit = true
	lost, once := make(chan struct{}), sync.Once{}
	for _, w := range p.wires {
		w.LoseReply(p.namesFrom(nth), func(reply faultproxy.Chunk) {
			once.Do(func() { close(lost) })
			p.Fault(p.Name, replyLost, fmt.Sprintf("the proxy received %q from the server and closed the connection", clients.Short(reply.Data)))
		})
	}
	return func() {
		if nth > 1 {
			return
		}
		select {
		case <-lost:
		case <-time.After(p.Lease / 2):
			p.Must(p.noRequest("lost"))
		}
	}
}

// noRequest says that no reply could be lost, or held back.
func (p *process) noRequest(done string) error {
	return fmt.Errorf("no reply could be %s: no packet of %s to its servers contained %q within half a lease; "+
		"if the program hashes its keys, its ready must say the text (field key, see docs/protocol.md)", done, p.Name, p.named)
}

// partition drops what a copy and its servers send each other. The lab's own request is the proof: an idle program sends nothing.
func (p *process) partition(ctx context.Context) {
	cut := servers.Cut(p.Name, p.wires...)
	for _, w := range p.wires {
		conn, err := faultproxy.TCP(w.Addr)(ctx)
		p.Must(err)
		_, err = conn.Write([]byte("PING\r\n"))
		_ = conn.Close()
		p.Must(err)
	}
	proof, err := cut.Await(ctx)
	p.Must(err)
	p.Fault(p.Name, "cut off", proof)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
