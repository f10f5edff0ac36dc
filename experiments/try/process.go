package try

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/experiments/clients"
	"locklab/experiments/try/protocol"
	"locklab/history"
	"locklab/stack"
)

// process is one copy of the program. Its servers are behind proxies of its own, so that a fault of its connections affects no other copy.
type process struct {
	*bench
	name    string // of its timeline
	running *stack.Dialogue
	wires   []*stack.Proxy
	quiet   bool // its beliefs are not recorded: too many
	hit     bool // a fault has hit its connections: an error is a usable answer

	mu      sync.Mutex
	asked   int
	waiting map[string]chan protocol.Answer // by id
	lost    map[string]chan string          // by id of a grant: told at most once
	failed  error                           // what ended the dialogue
	ended   chan struct{}                   // closed when it has
}

// The ids of the two lines that answer no request.
const (
	helloID = "hello"
	readyID = "ready"
)

// start starts a copy of the program, and connects it.
func (b *bench) start(ctx context.Context, name string) *process {
	p := &process{
		bench: b, name: name, ended: make(chan struct{}),
		waiting: make(map[string]chan protocol.Answer), lost: make(map[string]chan string),
	}
	var servers []string
	for _, node := range b.nodes {
		wire, err := b.Stack.Proxy("wire", node.Addr)
		b.Must(err)
		p.wires, servers = append(p.wires, wire), append(servers, wire.Addr)
	}
	hello := p.expect(helloID)
	p.launch()
	p.Must(b.program.sameAs(p.await(ctx, helloID, hello, p.Scaled(starting))))
	p.ask(ctx, readyID, protocol.Request{Type: protocol.Start, Servers: servers, LeaseMS: b.lease.Milliseconds()}, p.Scaled(starting))
	return p
}

// launch starts the process and reads what it prints.
func (p *process) launch() {
	w, err := p.Stack.Program("program-"+p.name, p.program.Argv...)
	p.Must(err)
	p.running = w
	go p.receive()
	p.Cleanup(func() error {
		sent := make(chan struct{})
		go func() { // a program that reads nothing blocks it
			defer close(sent)
			p.send(protocol.Request{Type: protocol.Stop})
			_ = w.In.Close()
		}()
		for _, done := range []<-chan struct{}{w.Done(), p.ended} { // a program that does not end is no failure of its lock
			select {
			case <-done:
			case <-time.After(stopping):
			}
			w.Kill()
		}
		err := w.Out.Close() // a child of the program may have it still
		<-p.ended
		_ = w.In.Close()
		<-sent
		return err
	})
}

// receive passes answers on until the program ends, or prints a line that is none.
func (p *process) receive() {
	defer close(p.ended)
	lines := bufio.NewScanner(p.running.Out)
	lines.Buffer(nil, longestLine)
	for p.failed == nil && lines.Scan() {
		err := p.receiveLine(lines.Bytes())
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
	}
	p.mu.Lock()
	switch {
	case p.failed != nil:
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		p.failed = fmt.Errorf("the program printed a line of more than %d bytes", longestLine)
	default:
		p.failed = errors.New("the program has ended")
	}
	p.mu.Unlock()
	go func() { _, _ = io.Copy(io.Discard, p.running.Out) }() // so that it is not blocked; it ends with the process
}

func (p *process) receiveLine(line []byte) error {
	a, err := protocol.Parse(line)
	if err != nil {
		return fmt.Errorf("the program printed %q: %w", short(line), err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := a.ID
	switch {
	case a.Type == protocol.Hello:
		id = helloID
	case a.Type == protocol.Ready, a.Type == protocol.Error && a.ID == "":
		id = readyID
	case a.Type == protocol.Lost:
		told := p.lost[a.ID]
		if told == nil {
			return fmt.Errorf("the program printed %q: it was never granted a lock with that id", short(line))
		}
		select {
		case told <- a.Reason:
			return nil
		default:
			return fmt.Errorf("the program printed %q: it tells of one loss twice", short(line))
		}
	}
	waiting := p.waiting[id]
	if waiting == nil {
		return fmt.Errorf("the program printed %q: no request with that id waits for an answer", short(line))
	}
	delete(p.waiting, id)
	if a.Type == protocol.Granted {
		p.lost[a.ID] = make(chan string, 1)
	}
	waiting <- a
	return nil
}

func short(line []byte) string {
	const most = 120
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}

// expect prepares for an answer.
func (p *process) expect(id string) chan protocol.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := make(chan protocol.Answer, 1)
	p.waiting[id] = answer
	return answer
}

func (p *process) send(r protocol.Request) {
	text, err := json.Marshal(r)
	p.Must(err)
	_, _ = p.running.In.Write(append(text, '\n')) // a program that has ended is noticed where its answer is awaited
}

// Errors in place of an answer that tells whether the program holds a lock.
var (
	errSilent = errors.New("the program has not answered")
	errAnswer = errors.New("the program answered with an error")
)

// await waits for an answer. No answer in time ends the trial.
func (p *process) await(ctx context.Context, id string, answer chan protocol.Answer, longest time.Duration) protocol.Answer {
	a, err := p.answered(ctx, id, answer, longest)
	p.Must(err)
	return a
}

// answered waits for an answer. The error is errSilent, the end of the program, or that of ctx.
func (p *process) answered(
	ctx context.Context, id string, answer chan protocol.Answer, longest time.Duration,
) (a protocol.Answer, err error) {
	timeout := time.NewTimer(longest)
	defer timeout.Stop()
	select {
	case a = <-answer:
	case <-p.ended:
		select {
		case a = <-answer: // it was the last one
		default:
			return a, fmt.Errorf("%s: %w, before it answered %q", p.name, p.failed, id)
		}
	case <-timeout.C:
		return a, fmt.Errorf("%s: %w %q within %s", p.name, errSilent, id, longest.Round(time.Millisecond))
	case <-ctx.Done():
		return a, ctx.Err()
	}
	if a.Type == protocol.Error && (id == readyID || id == helloID) {
		return a, fmt.Errorf("%s: the program could not start: %s", p.name, a.Text)
	}
	return a, nil
}

func (p *process) ask(ctx context.Context, id string, r protocol.Request, longest time.Duration) protocol.Answer {
	answer := p.expect(id)
	p.send(r)
	return p.await(ctx, id, answer, longest)
}

// held is a lock that the program says it holds.
type held struct {
	*clients.Holder
	p     *process
	id    string
	token uint64
	until time.Time   // its lease ends, unless it is renewed
	lost  chan string // the loss, when the program tells it
}

// begin requests a key, and returns what waits for the answer. Without a lock and an error it is not granted. The error is errSilent,
// errAnswer, or the end of the program or of ctx.
func (p *process) begin(key string, wait time.Duration) (granted func(context.Context) (*held, error)) {
	p.mu.Lock()
	p.asked++
	id := strings.ToLower(p.name) + strconv.Itoa(p.asked)
	p.mu.Unlock()
	p.believe(id, history.Request, key, 0, "")
	answer, asked := p.expect(id), time.Now()
	p.send(protocol.Request{Type: protocol.Acquire, ID: id, Key: key, WaitMS: wait.Milliseconds(), LeaseMS: p.lease.Milliseconds()})
	return func(ctx context.Context) (*held, error) {
		a, err := p.answered(ctx, id, answer, wait+p.Scaled(answering))
		switch {
		case err != nil:
			return nil, err
		case a.Type == protocol.Granted:
		case a.Type == protocol.Refused, a.Type == protocol.Error:
			p.believe(id, history.Refuse, key, 0, a.Reason+a.Text)
			if a.Type == protocol.Error {
				err = fmt.Errorf("%s: %w: %s", p.name, errAnswer, a.Text)
			}
			return nil, err
		default:
			return nil, fmt.Errorf("%s: the program answered an acquire with %q", p.name, a.Type)
		}
		p.believe(id, history.Grant, key, a.Token, "")
		p.mu.Lock()
		defer p.mu.Unlock()
		h := &held{clients.HolderElsewhere(p.Trial, p.name, id, a.Token), p, id, a.Token, asked.Add(p.lease), p.lost[id]}
		h.Key = key
		return h, nil
	}
}

// acquire requests the key. nil: it is not granted within wait. An error in place of an answer ends the trial, unless a fault has hit the
// copy.
func (p *process) acquire(ctx context.Context, wait time.Duration) *held {
	h, err := p.begin(key, wait)(ctx)
	if !p.hit || !errors.Is(err, errAnswer) {
		p.Must(err)
	}
	return h
}

// keeps ends the trial when a lock is not renewed and its lease is over. Then another grant is no violation: this machine is too slow.
func (h *held) keeps() {
	if !h.p.program.Claims.Renews && time.Now().After(h.until) {
		h.p.Must(errors.New("the lease of the holder ended before the end of the trial: this machine is too slow; run it again"))
	}
}

// holds acquires a key that is free: a refusal ends the trial.
func (p *process) holds(ctx context.Context, key string) *held {
	h := p.settle(ctx, key)
	if h == nil {
		p.Must(fmt.Errorf("%s was not granted a key that is free", p.name))
	}
	return h
}

// settle requests a key until it is granted, for as long as a lease and some time more. nil: it is not granted.
func (p *process) settle(ctx context.Context, key string) *held {
	for deadline := time.Now().Add(p.settling()); ; {
		h, err := p.begin(key, max(0, time.Until(deadline)))(ctx)
		if !errors.Is(err, errAnswer) { // after a fault of a server any copy may have lost its connection
			p.Must(err)
		}
		if h != nil || time.Now().After(deadline) {
			return h
		}
		pause(ctx, p.lease/20) // it answered early: its connection may have ended
	}
}

// release lets the program release the lock. It reports whether the program says that it did.
func (h *held) release(ctx context.Context) bool {
	h.p.believe(h.id, history.Release, h.Key, 0, "")
	a := h.p.ask(ctx, h.id, protocol.Request{Type: protocol.Release, ID: h.id}, h.p.Scaled(answering))
	text, usable := map[protocol.Type]string{protocol.Released: "", protocol.NotHeld: history.Gone, protocol.Error: a.Text}[a.Type]
	if !usable || a.Type == protocol.Error && !h.p.hit {
		h.p.Must(fmt.Errorf("%s: the program answered a release with %q: %s", h.p.name, a.Type, a.Text))
	}
	h.p.believe(h.id, history.Released, h.Key, 0, text)
	return a.Type == protocol.Released
}

// told waits until the program tells that the lock is lost.
func (h *held) told(ctx context.Context, longest time.Duration) bool {
	timeout := time.NewTimer(longest)
	defer timeout.Stop()
	select {
	case reason := <-h.lost:
		h.p.believe(h.id, history.Lose, h.Key, 0, reason)
		return true
	case <-timeout.C:
	case <-h.p.ended:
		h.p.Must(h.p.failed)
	case <-ctx.Done():
	}
	return false
}

// believe records what a copy says of a lock.
func (p *process) believe(id string, kind history.Kind, key string, token uint64, text string) {
	if !p.quiet {
		p.Record(history.Event{Timeline: p.name, Process: p.String(), Owner: id, Kind: kind, Key: key, Token: token, Text: text})
	}
}

// String names the process.
func (p *process) String() string { return fmt.Sprintf("%s, process %d", p.name, p.running.PID()) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
