package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// Program is a client in a process of its own, which speaks package protocol: this binary with a [Lock] of the lab, or anybody's program.
// Its answers are recorded when they arrive; a program that is paused gives them later.
type Program struct {
	*lab.Trial
	Name  string        // of its timeline
	Lease time.Duration // that it is asked for
	Quiet atomic.Bool   // its answers are not recorded: too many
	Hit   bool          // a fault has hit its connections: an error is a usable answer
	Crowd bool          // many requests come at a time: it has twice the time to answer, and a release without an answer is ErrSilent

	*dialogue
	asked  int
	grants map[string]*ProcessHolder // by id
	holds  string                    // id of the newest grant
}

// Launch starts a copy of a program that open starts, and waits for its hello. It ends with the trial.
func Launch(
	ctx context.Context, t *lab.Trial, name string, open func(process string) (*servers.Dialogue, error),
) (p *Program, claims protocol.Claims, err error) {
	running, err := open("program-" + name)
	if err != nil {
		return nil, claims, err
	}
	p = &Program{Trial: t, Name: name, grants: make(map[string]*ProcessHolder)}
	p.dialogue, claims, err = greet(ctx, running, speaker{t.Experiment, t.Variant, t.Number, name}, p.heard, p.Scaled(Starting))
	t.Cleanup(p.stop)
	return p, claims, p.named(err)
}

// named is an error with the name of the program.
func (p *Program) named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", p.Name, err)
}

// Connect lets the program connect to its servers, and returns its ready. lease is how long a key stays locked after its holder's death.
func (p *Program) Connect(ctx context.Context, servers []string, lease time.Duration) (ready protocol.Answer, err error) {
	p.Lease = lease
	answer := p.expect(readyID, protocol.Start)
	p.send(protocol.Request{Type: protocol.Start, Servers: servers, LeaseMS: lease.Milliseconds()}, p.Scaled(Starting))
	ready, err = p.answer(ctx, readyID, answer, p.Scaled(Starting))
	if err == nil && ready.Type == protocol.Error {
		err = fmt.Errorf("%w: it could not start: %s", ErrAnswer, ready.Text)
	}
	return ready, p.named(err)
}

// EndedItself says when and how the program ended, unless it runs or the lab has ended it: then how is nil.
func (p *Program) EndedItself() (at time.Duration, how error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending || !errors.Is(p.failed, ErrEnded) {
		return 0, nil
	}
	return p.endedAt.Sub(p.Began()), p.failed
}

// Stderr is the last twenty lines that the program has written there.
func (p *Program) Stderr() []string { return p.running.LastLines(20) }

// PID is the id of the process.
func (p *Program) PID() int { return p.running.PID() }

// String names the process.
func (p *Program) String() string { return fmt.Sprintf("%s, process %d", p.Name, p.running.PID()) }

// Kill ends the process immediately, whatever it holds.
func (p *Program) Kill() {
	p.mu.Lock()
	owner := p.holds
	p.ending = true
	p.mu.Unlock()
	KillProcess(p.Trial, history.Event{Timeline: p.Name, Owner: owner}, p.running)
}

// KillProcess ends a process immediately. e has its timeline, and the owner of its lock. Its death is recorded before, so it stands before
// all that others do because of it; the proof comes later.
func KillProcess(t *lab.Trial, e history.Event, running *servers.Dialogue) {
	e.Kind, e.Text = history.Die, fmt.Sprintf("process %d is killed", running.PID())
	t.Record(e)
	running.Kill()
	proof, err := running.Ended()
	t.Must(err)
	t.Fault(e.Timeline, "killed", proof)
}

// Stop asks the program to end, as the end of its trial does, and reports whether it ends in time. One that does not runs on until then.
func (p *Program) Stop() (inTime bool) {
	p.askToEnd()
	select {
	case <-p.running.Done():
		return true
	case <-time.After(p.Scaled(stopping)):
		return false
	}
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

// Begin requests a key, and returns what waits for the answer. The error is ErrRefused, ErrAnswer, ErrSilent, ErrEnded, that of a line
// that breaks the protocol, or that of ctx.
func (p *Program) Begin(key string, wait time.Duration) (granted func(context.Context) (*ProcessHolder, error)) {
	p.mu.Lock()
	p.asked++
	h := &ProcessHolder{
		grant: grant{Name: p.Name, Key: key, Owner: strings.ToLower(p.Name) + strconv.Itoa(p.asked), t: p.Trial},
		Asked: time.Now(), p: p, lost: make(chan struct{}),
	}
	h.extended(h.Asked)
	p.grants[h.Owner] = h
	p.mu.Unlock()
	h.believe(history.Request, "")
	answer := p.expect(h.Owner, protocol.Acquire)
	p.send(protocol.Request{
		Type: protocol.Acquire, ID: h.Owner, Key: key, WaitMS: wait.Milliseconds(), LeaseMS: p.Lease.Milliseconds(),
	}, p.Answering())
	return func(ctx context.Context) (*ProcessHolder, error) {
		a, err := p.answer(ctx, h.Owner, answer, wait+p.Answering())
		switch {
		case err != nil:
			return nil, p.named(err)
		case a.Type == protocol.Refused:
			return nil, fmt.Errorf("%s %w: %s", p.Name, ErrRefused, cmp.Or(a.Reason, "without a reason"))
		case a.Type == protocol.Error:
			return nil, p.named(fmt.Errorf("%w: %s", ErrAnswer, a.Text))
		}
		return h, nil
	}
}

// Answering is how long an answer may take, beyond the wait of its request.
func (p *Program) Answering() time.Duration {
	if p.Crowd {
		return p.Scaled(2 * Answering)
	}
	return p.Scaled(Answering)
}

// heard takes the answer to an acquire, and what the program tells of a loss. The caller holds mu.
func (p *Program) heard(id string, a protocol.Answer) error {
	h := p.grants[id]
	switch {
	case a.Type == protocol.Granted:
		p.holds = id
		h.granted(a)
	case a.Type != protocol.Lost: // refused, or an error
		h.believe(history.Refuse, a.Reason+a.Text)
	case h == nil || h.Granted.IsZero():
		return errors.New("it was never granted a lock with that id")
	case h.IsLost():
		return errors.New("it tells of one loss twice")
	default:
		h.believe(history.Lose, a.Reason)
		close(h.lost)
	}
	return nil
}

// ProcessHolder is a [Program] that says it holds a lock.
type ProcessHolder struct {
	grant
	Asked   time.Time // the request was sent; its lease begins no earlier
	Granted time.Time // the answer arrived; zero: it was not granted

	p     *Program
	until time.Time     // its lease ends, unless it is renewed, not before that
	good  time.Time     // the holder may rely on it until then, as the program says; zero: it has not said
	lost  chan struct{} // closed when the program has told of the loss
}

// believe records what a program says of its lock.
func (h *ProcessHolder) believe(kind history.Kind, text string) {
	if !h.p.Quiet.Load() {
		h.Record(history.Event{Process: h.p.String(), Kind: kind, Key: h.Key, Text: text})
	}
}

// granted takes the answer. It may have been under way for a tenth of the lease; for more on a machine that is too slow for a trial.
func (h *ProcessHolder) granted(a protocol.Answer) {
	h.Granted, h.Token = time.Now(), a.Token
	h.extended(h.Granted.Add(-h.p.Lease / 10))
	h.rely(h.Asked, a)
	h.believe(history.Grant, "")
}

// rely records until_ms. The program counts from its answer, which is no earlier than the request. The caller holds mu.
func (h *ProcessHolder) rely(asked time.Time, a protocol.Answer) {
	if a.UntilMS > 0 {
		h.good = asked.Add(time.Duration(a.UntilMS) * time.Millisecond)
	}
}

// ReliesUntil is the moment until which the holder may rely on the lock, as the program says. Zero: it has not said.
func (h *ProcessHolder) ReliesUntil() time.Time {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	return h.good
}

// extended takes note that the lease was given at a moment, or later.
func (h *ProcessHolder) extended(at time.Time) {
	if end := at.Add(h.p.Lease); end.After(h.until) {
		h.until = end
	}
}

// MayHaveEnded reports whether the lease may have been over at a moment, unless the program renews it.
func (h *ProcessHolder) MayHaveEnded(at time.Time) bool {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	return at.After(h.until)
}

// IsLost reports whether the program has told that the lock is lost.
func (h *ProcessHolder) IsLost() bool {
	select {
	case <-h.lost:
		return true
	default:
		return false
	}
}

// AwaitLoss waits until the program tells that the lock is lost. It reports false when it has not within longest.
func (h *ProcessHolder) AwaitLoss(ctx context.Context, longest time.Duration) bool {
	timeout := time.NewTimer(longest)
	defer timeout.Stop()
	select {
	case <-h.lost:
		return true
	case <-timeout.C:
	case <-h.p.ended:
		h.t.Must(h.p.named(h.p.failed))
	case <-ctx.Done():
	}
	return false
}

// TryRelease implements [Holder]: the program releases the lock. The error may be ErrSilent in a crowd.
func (h *ProcessHolder) TryRelease(ctx context.Context) error {
	h.believe(history.Release, "")
	a, err := h.change(protocol.Release)(ctx)
	if err != nil {
		h.believe(history.Released, err.Error())
		return err
	}
	text := map[protocol.Type]string{protocol.NotHeld: history.Gone, protocol.Error: a.Text}[a.Type]
	h.believe(history.Released, text)
	if a.Type != protocol.Released {
		return fmt.Errorf("%s did not release %q: %s", h.p, h.Key, cmp.Or(text, string(a.Type)))
	}
	return nil
}

// Extend lets the program extend the lock by a lease. It reports whether the program says that it did.
func (h *ProcessHolder) Extend(ctx context.Context) bool { return h.BeginExtend()(ctx) }

// BeginExtend sends the request of Extend, and returns what waits for its answer. A program that is paused answers when it runs again.
func (h *ProcessHolder) BeginExtend() (extended func(context.Context) bool) {
	sent := time.Now()
	answered := h.change(protocol.Extend)
	return func(ctx context.Context) bool {
		a, err := answered(ctx)
		done := err == nil && a.Type == protocol.Granted
		if done {
			h.p.mu.Lock()
			defer h.p.mu.Unlock()
			h.extended(sent)
			h.rely(sent, a)
		}
		return done
	}
}

// change sends a request about the lock, and returns what waits for its answer. An error in place of an answer ends the trial, unless a
// fault has hit the program. So does ErrSilent, except in a crowd.
func (h *ProcessHolder) change(is protocol.Type) func(context.Context) (protocol.Answer, error) {
	answer := h.p.expect(h.Owner, is)
	h.p.send(protocol.Request{Type: is, ID: h.Owner}, h.p.Answering())
	return func(ctx context.Context) (protocol.Answer, error) {
		a, err := h.p.answer(ctx, h.Owner, answer, h.p.Answering())
		if err == nil && a.Type == protocol.Error && !h.p.Hit {
			err = fmt.Errorf("%w, to %s: %s", ErrAnswer, is, a.Text)
		}
		err = h.p.named(err)
		if !h.p.Crowd || !errors.Is(err, ErrSilent) {
			h.t.Must(err)
		}
		return a, err
	}
}
