package scorecard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab/clients"
	"locklab/lab/clients/agent"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// process is one copy of the program. Its servers are behind proxies of its own, so that a fault of its connections affects no other copy.
type process struct {
	*agent.Program
	bench *bench
	wires []*servers.Proxy
	named string // how its packets name the key
}

// start starts a copy of the program, and connects it.
func (b *bench) start(ctx context.Context, name string) *process {
	copied, hello, err := agent.Launch(ctx, b.Trial, name, func(process string) (*servers.Dialogue, error) {
		return b.Stack.Program(process, b.program.Argv...)
	})
	if err == nil {
		err = b.program.sameAs(hello)
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
	return &process{copied, b, wires, cmp.Or(ready.Key, key)}
}

// mustBegin ends the trial with err, unless that is nil. When no copy was granted a lock yet, nothing can be tried, and the run ends.
func (b *bench) mustBegin(err error) {
	if run := b.program.run; err != nil && !run.granted.Load() {
		why := ProgramError{Why: "no lock was granted: " + err.Error()}
		if errors.Is(err, agent.ErrSilent) {
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

// held is a lock that the program says it holds.
type held struct {
	*clients.Holder
	grant *agent.Grant
	p     *process
}

// request requests a key, and returns what waits for the answer: see [agent.Program.Begin].
func (p *process) request(key string, wait time.Duration) (granted func(context.Context) (*held, error)) {
	answer := p.Begin(key, wait)
	return func(ctx context.Context) (*held, error) {
		g, err := answer(ctx)
		if err != nil {
			return nil, err
		}
		p.bench.program.run.granted.Store(true)
		h := &held{clients.HolderElsewhere(p.Trial, p.Name, g.ID, g.Token), g, p}
		h.Key = key
		return h, nil
	}
}

// begin is request, where a refusal is no error: nil.
func (p *process) begin(key string, wait time.Duration) (granted func(context.Context) (*held, error)) {
	answer := p.request(key, wait)
	return func(ctx context.Context) (*held, error) {
		h, err := answer(ctx)
		if errors.Is(err, agent.ErrRefused) {
			err = nil
		}
		return h, err
	}
}

// acquire requests the key. nil: it is not granted within wait. An error in place of an answer ends the trial, unless a fault has hit the
// copy.
func (p *process) acquire(ctx context.Context, wait time.Duration) *held {
	h, err := p.begin(key, wait)(ctx)
	if !p.Hit || !errors.Is(err, agent.ErrAnswer) {
		p.Must(err)
	}
	return h
}

// keeps ends the trial when a lock is not renewed and its lease may have been over at a moment. Then another grant is no violation: this
// machine is too slow.
func (h *held) keeps(at time.Time) {
	if !h.p.bench.program.Claims.Renews && h.grant.MayHaveEnded(at) {
		h.p.Must(errors.New("the lease of the holder ended before the end of the trial: this machine is too slow; run it again"))
	}
}

// follows demands that the next grant came after the holder was asked to release the lock.
func (h *held) follows(next *held, released time.Time) {
	if at := next.grant.Granted; at.Before(released) {
		h.keeps(at)
		h.p.bench.violates(next.p.Name, "was granted a key that %s holds", h.p.Name)
	}
}

// holds acquires a key that is free: a refusal ends the trial.
func (p *process) holds(ctx context.Context, key string) *held {
	h, err := p.settle(ctx, key)
	if err != nil {
		err = fmt.Errorf("%s was not granted a key that is free: %w", p.Name, err)
	}
	p.bench.mustBegin(err)
	return h
}

// settle requests a key until it is granted, for as long as a lease and some time more. The error is that of the last request. After a
// fault of a server a copy may have lost its connection, so an early refusal or error is not the last word.
func (p *process) settle(ctx context.Context, key string) (*held, error) {
	for deadline := time.Now().Add(p.bench.settling()); ; pause(ctx, p.Lease/20) {
		h, err := p.request(key, max(0, time.Until(deadline)))(ctx)
		again := errors.Is(err, agent.ErrRefused) || errors.Is(err, agent.ErrAnswer)
		if !again || time.Now().After(deadline) {
			return h, err
		}
	}
}

// release lets the program release the lock. It reports whether the program says that it did.
func (h *held) release(ctx context.Context) bool { return h.grant.Release(ctx) }

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

const replyLost = "reply lost"

// loseReply loses the reply to the next request of a copy that names the key, on each of its servers. The server executes the request.
// The returned function ends the trial when there was no such request. A program may answer the lab before its server has answered.
func (p *process) loseReply() (mustBeLost func()) {
	p.Hit = true
	lost, once := make(chan struct{}), sync.Once{}
	named := func(request faultproxy.Chunk) bool {
		return faultproxy.NoGreeting(request) && bytes.Contains(request.Data, []byte(p.named))
	}
	for _, w := range p.wires {
		w.LoseReply(named, func(reply faultproxy.Chunk) {
			once.Do(func() { close(lost) })
			p.Fault(p.Name, replyLost, fmt.Sprintf("the proxy received %q from the server and closed the connection", agent.Short(reply.Data)))
		})
	}
	return func() {
		select {
		case <-lost:
		case <-time.After(p.Lease / 2):
			p.Must(fmt.Errorf("no reply could be lost: no packet of %s to its servers contained %q within half a lease; "+
				"if the program hashes its keys, its ready must say the text (field key, see docs/protocol.md)", p.Name, p.named))
		}
	}
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
