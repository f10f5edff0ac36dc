package agent

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// Bounds of a dialogue, on a quiet machine. The trials scale them.
const (
	Starting    = 20 * time.Second // until hello, and from start until ready: a virtual machine may be slow
	Answering   = 5 * time.Second  // beyond the wait of a request
	stopping    = 2 * time.Second  // from stop to the end of the process; then it is killed
	LongestLine = 64 << 10         // bytes of an answer
)

// Program is a copy of a program with a lock, as the lab sees it. It speaks package protocol. Its answers are recorded.
type Program struct {
	*lab.Trial
	Name  string        // of its timeline
	Lease time.Duration // that it is asked for
	Quiet atomic.Bool   // its answers are not recorded: too many
	Hit   bool          // a fault has hit its connections: an error is a usable answer

	running *servers.Dialogue
	mu      sync.Mutex
	asked   int
	ending  bool               // the lab ends it
	waiting map[string]waiting // by id
	grants  map[string]*Grant  // by id
	holds   string             // id of the newest grant
	failed  error              // what ended the dialogue
	endedAt time.Duration      // and when
	ended   chan struct{}      // closed when it has
}

// waiting is a request without its answer.
type waiting struct {
	request protocol.Type
	answer  chan protocol.Answer
}

// answersTo are the answers that a request may get.
var answersTo = map[protocol.Type][]protocol.Type{
	protocol.Hello:   {protocol.Hello},
	protocol.Start:   {protocol.Ready, protocol.Error},
	protocol.Acquire: {protocol.Granted, protocol.Refused, protocol.Error},
	protocol.Release: {protocol.Released, protocol.NotHeld, protocol.Error},
	protocol.Extend:  {protocol.Granted, protocol.NotHeld, protocol.Error},
}

// The ids of the two lines that answer no request.
const (
	helloID = "hello"
	readyID = "ready"
)

// Launch starts a copy of a program that open starts, and waits for its hello. It ends with the trial.
func Launch(
	ctx context.Context, t *lab.Trial, name string, open func(process string) (*servers.Dialogue, error),
) (p *Program, hello protocol.Answer, err error) {
	w, err := open("program-" + name)
	if err != nil {
		return nil, hello, err
	}
	p = &Program{
		Trial: t, Name: name, running: w, ended: make(chan struct{}),
		waiting: make(map[string]waiting), grants: make(map[string]*Grant),
	}
	said := p.expect(helloID, protocol.Hello)
	go p.receive()
	t.Cleanup(p.stop)
	hello, err = p.answered(ctx, helloID, said, p.Scaled(Starting))
	return p, hello, err
}

// Connect lets the program connect to its servers, and returns its ready. lease is how long a key stays locked after its holder's death.
func (p *Program) Connect(ctx context.Context, servers []string, lease time.Duration) (ready protocol.Answer, err error) {
	p.Lease = lease
	answer := p.expect(readyID, protocol.Start)
	p.send(protocol.Request{Type: protocol.Start, Servers: servers, LeaseMS: lease.Milliseconds()}, p.Scaled(Starting))
	ready, err = p.answered(ctx, readyID, answer, p.Scaled(Starting))
	if err == nil && ready.Type == protocol.Error {
		err = fmt.Errorf("%s: %w: it could not start: %s", p.Name, ErrAnswer, ready.Text)
	}
	return ready, err
}

// EndedItself says when and how the program ended, unless it runs or the lab has ended it: then how is nil.
func (p *Program) EndedItself() (at time.Duration, how error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending || !errors.Is(p.failed, ErrEnded) {
		return 0, nil
	}
	return p.endedAt, p.failed
}

// stop asks the program to end, and kills it when it does not.
func (p *Program) stop() error {
	p.mu.Lock()
	p.ending = true
	p.mu.Unlock()
	w := p.running
	p.send(protocol.Request{Type: protocol.Stop}, stopping)
	_ = w.In.Close()
	for _, done := range []<-chan struct{}{w.Done(), p.ended} { // a program that does not end is no failure of its lock
		select {
		case <-done:
		case <-time.After(stopping):
		}
		w.Kill()
	}
	err := w.Out.Close() // a child of the program may have it still
	<-p.ended
	return err
}

// Stderr is the last twenty lines that the program has written there.
func (p *Program) Stderr() []string { return p.running.LastLines(20) }

// receive passes answers on until the program ends, or prints a line that is none.
func (p *Program) receive() {
	defer close(p.ended)
	lines := bufio.NewScanner(p.running.Out)
	lines.Buffer(nil, LongestLine)
	for p.failed == nil && lines.Scan() {
		err := p.receiveLine(lines.Bytes())
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
	}
	at, failed := p.Now(), p.failed
	switch {
	case failed != nil:
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		failed = fmt.Errorf("the program printed a line of more than %d bytes", LongestLine)
	default:
		failed = p.howEnded()
	}
	p.mu.Lock()
	p.failed, p.endedAt = failed, at
	p.mu.Unlock()
	go func() { _, _ = io.Copy(io.Discard, p.running.Out) }() // so that it is not blocked; it ends with the process
}

// howEnded waits for the end of a program that has closed its stdout, and says how it ended.
func (p *Program) howEnded() error {
	select {
	case <-p.running.Done():
		return fmt.Errorf("%w with %s", ErrEnded, p.running.Status())
	case <-time.After(stopping):
		return fmt.Errorf("%w its answers: its stdout is closed, and its process runs on", ErrEnded)
	}
}

func (p *Program) receiveLine(line []byte) error {
	a, err := protocol.Parse(line)
	if err != nil {
		return fmt.Errorf("the program printed %q: %w", Short(line), err)
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
		if err := p.lose(a); err != nil {
			return fmt.Errorf("the program printed %q: %w", Short(line), err)
		}
		return nil
	}
	asked, waits := p.waiting[id]
	switch {
	case !waits:
		return fmt.Errorf("the program printed %q: no request with that id waits for an answer; it has had one, or was never sent", Short(line))
	case !slices.Contains(answersTo[asked.request], a.Type):
		return fmt.Errorf("the program printed %q, and %s %q waits for an answer, which is one of %v; is an earlier request answered twice?",
			Short(line), asked.request, id, answersTo[asked.request])
	}
	delete(p.waiting, id)
	if asked.request == protocol.Acquire {
		p.answer(p.grants[id], a)
	}
	asked.answer <- a
	return nil
}

// answer takes the answer to an acquire. The caller holds p.mu.
func (p *Program) answer(g *Grant, a protocol.Answer) {
	switch a.Type {
	case protocol.Granted:
		g.Granted, g.Token, p.holds = time.Now(), a.Token, g.ID
		g.extended(g.Granted.Add(-p.Scaled(underway)))
		if a.UntilMS > 0 {
			g.Relies = g.asked.Add(time.Duration(a.UntilMS) * time.Millisecond) // the program counts from its answer, which is no earlier
		}
		p.believe(history.Grant, g, "")
	case protocol.Refused, protocol.Error:
		p.believe(history.Refuse, g, a.Reason+a.Text)
	}
}

// lose takes what the program tells of the loss of a grant. The caller holds p.mu.
func (p *Program) lose(a protocol.Answer) error {
	g := p.grants[a.ID]
	switch {
	case g == nil || g.Granted.IsZero():
		return errors.New("it was never granted a lock with that id")
	case g.IsLost():
		return errors.New("it tells of one loss twice")
	}
	p.believe(history.Lose, g, a.Reason)
	close(g.lost)
	return nil
}

// Short is the beginning of a line.
func Short(line []byte) string {
	const most = 120
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}

// expect prepares for an answer.
func (p *Program) expect(id string, request protocol.Type) chan protocol.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := make(chan protocol.Answer, 1)
	p.waiting[id] = waiting{request, answer}
	return answer
}

// send sends a request. A program that reads nothing does not block it for longer than within.
func (p *Program) send(r protocol.Request, within time.Duration) {
	text, err := json.Marshal(r)
	p.Must(err)
	_ = p.running.In.SetWriteDeadline(time.Now().Add(within))
	_, _ = p.running.In.Write(append(text, '\n')) // a program that has ended is noticed where its answer is awaited
}

// Errors of a request.
var (
	ErrRefused = errors.New("was refused")
	ErrAnswer  = errors.New("the program answered with an error")
	ErrSilent  = errors.New("the program has not answered")
	ErrEnded   = errors.New("the program has ended")
)

// await waits for an answer. No answer in time ends the trial.
func (p *Program) await(ctx context.Context, id string, answer chan protocol.Answer, longest time.Duration) protocol.Answer {
	a, err := p.answered(ctx, id, answer, longest)
	p.Must(err)
	return a
}

// answered waits for an answer. The error is ErrSilent, the end of the program, or that of ctx.
func (p *Program) answered(
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
			return a, fmt.Errorf("%s: %w", p.Name, p.failed)
		}
	case <-timeout.C:
		return a, fmt.Errorf("%s: %w %q within %s", p.Name, ErrSilent, id, longest.Round(time.Millisecond))
	case <-ctx.Done():
		return a, ctx.Err()
	}
	return a, nil
}

// Begin requests a key, and returns what waits for the answer. The error is ErrRefused, ErrAnswer, ErrSilent, ErrEnded, that of a line
// that breaks the protocol, or that of ctx.
func (p *Program) Begin(key string, wait time.Duration) (granted func(context.Context) (*Grant, error)) {
	p.mu.Lock()
	p.asked++
	g := &Grant{p: p, ID: strings.ToLower(p.Name) + strconv.Itoa(p.asked), Key: key, lost: make(chan struct{})}
	g.asked = time.Now()
	g.extended(g.asked)
	p.grants[g.ID] = g
	p.mu.Unlock()
	p.believe(history.Request, g, "")
	answer := p.expect(g.ID, protocol.Acquire)
	request := protocol.Request{Type: protocol.Acquire, ID: g.ID, Key: key, WaitMS: wait.Milliseconds(), LeaseMS: p.Lease.Milliseconds()}
	p.send(request, p.Scaled(Answering))
	return func(ctx context.Context) (*Grant, error) {
		a, err := p.answered(ctx, g.ID, answer, wait+p.Scaled(Answering))
		switch {
		case err != nil:
			return nil, err
		case a.Type == protocol.Refused:
			return nil, fmt.Errorf("%s %w: %s", p.Name, ErrRefused, cmp.Or(a.Reason, "without a reason"))
		case a.Type == protocol.Error:
			return nil, fmt.Errorf("%s: %w: %s", p.Name, ErrAnswer, a.Text)
		}
		return g, nil
	}
}

// believe records what a copy says of a lock.
func (p *Program) believe(kind history.Kind, g *Grant, text string) {
	if !p.Quiet.Load() {
		p.Record(history.Event{Timeline: p.Name, Process: p.String(), Owner: g.ID, Kind: kind, Key: g.Key, Token: g.Token, Text: text})
	}
}

// String names the process.
func (p *Program) String() string { return fmt.Sprintf("%s, process %d", p.Name, p.running.PID()) }

// Kill ends the process immediately, whatever it holds.
func (p *Program) Kill() {
	p.mu.Lock()
	owner := p.holds
	p.ending = true
	p.mu.Unlock()
	kill(p.Trial, history.Event{Timeline: p.Name, Owner: owner}, p.running)
}

// kill ends a process. e has its timeline, and the owner of its lock.
func kill(t *lab.Trial, e history.Event, running *servers.Dialogue) {
	running.Kill()
	proof, err := running.Ended()
	t.Must(err)
	e.Kind, e.Text = history.Die, fmt.Sprintf("process %d was killed", running.PID())
	t.Record(e)
	t.Fault(e.Timeline, "killed", proof)
}

// Pause stops the process until Resume.
func (p *Program) Pause() {
	p.Must(p.running.Pause())
	p.Fault(p.Name, "paused", fmt.Sprintf("no thread of process %d runs", p.running.PID()))
}

// Resume lets it run again.
func (p *Program) Resume() {
	p.Heal(p.Name, "resumed")
	p.running.Resume()
}

// Grant is a lock that the program says it holds.
type Grant struct {
	Key, ID string
	Token   uint64    // 0: it has none
	Granted time.Time // the answer arrived; zero: it was not granted
	Relies  time.Time // until when the holder may rely on it, as the program says; zero: it has not said

	p     *Program
	asked time.Time
	until time.Time     // its lease ends, unless it is renewed, not before that
	lost  chan struct{} // closed when the program has told of the loss
}

// underway is how long the answer of a program may be under way. It is longer than that on a machine that is too slow for a trial.
const underway = 50 * time.Millisecond

// extended takes note that the lease was given at a moment, or later.
func (g *Grant) extended(at time.Time) {
	if end := at.Add(g.p.Lease); end.After(g.until) {
		g.until = end
	}
}

// MayHaveEnded reports whether the lease may have been over at a moment, unless the program renews it.
func (g *Grant) MayHaveEnded(at time.Time) bool {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	return at.After(g.until)
}

// IsLost reports whether the program has told that the grant is lost.
func (g *Grant) IsLost() bool {
	select {
	case <-g.lost:
		return true
	default:
		return false
	}
}

// AwaitLoss waits until the program tells that the grant is lost. It reports false when it has not within longest.
func (g *Grant) AwaitLoss(ctx context.Context, longest time.Duration) bool {
	timeout := time.NewTimer(longest)
	defer timeout.Stop()
	select {
	case <-g.lost:
		return true
	case <-timeout.C:
	case <-g.p.ended:
		g.p.Must(g.p.failed)
	case <-ctx.Done():
	}
	return false
}

// Release lets the program release the lock. It reports whether the program says that it did.
func (g *Grant) Release(ctx context.Context) bool {
	g.p.believe(history.Release, g, "")
	a := g.change(protocol.Release)(ctx)
	text := map[protocol.Type]string{protocol.NotHeld: history.Gone, protocol.Error: a.Text}[a.Type]
	g.p.believe(history.Released, g, text)
	return a.Type == protocol.Released
}

// Extend lets the program extend the lock by a lease. It reports whether the program says that it did.
func (g *Grant) Extend(ctx context.Context) bool { return g.BeginExtend()(ctx) }

// BeginExtend sends the request of Extend, and returns what waits for its answer. A program that is paused answers when it runs again.
func (g *Grant) BeginExtend() (extended func(context.Context) bool) {
	sent := time.Now()
	answered := g.change(protocol.Extend)
	return func(ctx context.Context) bool {
		done := answered(ctx).Type == protocol.Granted
		if done {
			g.p.mu.Lock()
			defer g.p.mu.Unlock()
			g.extended(sent)
		}
		return done
	}
}

// change sends a request about the grant, and returns what waits for its answer. An error is a usable answer of a program that a fault has
// hit.
func (g *Grant) change(request protocol.Type) func(context.Context) protocol.Answer {
	p := g.p
	answer := p.expect(g.ID, request)
	p.send(protocol.Request{Type: request, ID: g.ID}, p.Scaled(Answering))
	return func(ctx context.Context) protocol.Answer {
		a := p.await(ctx, g.ID, answer, p.Scaled(Answering))
		if a.Type == protocol.Error && !p.Hit {
			p.Must(fmt.Errorf("%s: %w, to %s: %s", p.Name, ErrAnswer, request, a.Text))
		}
		return a
	}
}
