package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/lab/clients/protocol"
	"locklab/lab/servers"
)

// Bounds of a dialogue, on a quiet machine. The trials scale them.
const (
	Starting    = 20 * time.Second // until hello, and from start until ready: a virtual machine may be slow
	Answering   = 5 * time.Second  // beyond the wait of a request
	stopping    = 2 * time.Second  // from stop to the end of the process; then it is killed
	LongestLine = 64 << 10         // bytes of an answer
)

// Errors of a dialogue.
var (
	ErrRefused = errors.New("was refused")
	ErrAnswer  = errors.New("the program answered with an error")
	ErrSilent  = errors.New("the program has not answered")
	ErrEnded   = errors.New("the program has ended")
)

// dialogue is what the lab and a program say to each other in package protocol.
type dialogue struct {
	running    *servers.Dialogue
	heard      func(id string, a protocol.Answer) error // takes an answer to an acquire, and a loss. The caller holds mu
	transcribe func(direction string, line []byte)

	mu      sync.Mutex
	greeted bool
	ending  bool               // the lab ends the program
	stopped bool               // and has asked it to end
	waiting map[string]request // by id
	failed  error              // what ended the dialogue
	endedAt time.Time          // and when
	ended   chan struct{}      // closed when it has
}

// request is one without its answer.
type request struct {
	is     protocol.Type
	answer chan protocol.Answer
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

// greet begins a dialogue with a copy of a program that was just started, and waits for its hello.
func greet(
	ctx context.Context, running *servers.Dialogue, is speaker, heard func(string, protocol.Answer) error, within time.Duration,
) (*dialogue, protocol.Claims, error) {
	d := &dialogue{running: running, heard: heard, waiting: make(map[string]request), ended: make(chan struct{})}
	d.transcribe = transcriptOf(ctx).of(is)
	said := d.expect(helloID, protocol.Hello)
	go d.receive()
	hello, err := d.answer(ctx, helloID, said, within)
	if err != nil {
		return d, protocol.Claims{}, err
	}
	if claimed := hello.PID; claimed != running.PID() {
		return d, *hello.Claims, fmt.Errorf("the lab started process %d, and process %d said hello; name the program itself, "+
			"or start it with exec", running.PID(), claimed)
	}
	if _, known := servers.KindNamed(hello.Store); !known {
		return d, *hello.Claims, fmt.Errorf("store is %q; it must be one of %s", hello.Store, strings.Join(servers.StoreNames(), ", "))
	}
	return d, *hello.Claims, nil
}

// Hello waits for the hello of a program that was just started, looks at its process, and ends it.
func Hello(ctx context.Context, running *servers.Dialogue, look func(pid int)) (protocol.Claims, error) {
	d, claims, err := greet(ctx, running, speaker{name: "A"}, nil, Starting)
	if err == nil {
		look(running.PID())
	}
	if ended := d.kill(); err == nil {
		err = ended
	}
	return claims, err
}

// stop asks the program to end, and kills it when it does not.
func (d *dialogue) stop() error {
	d.askToEnd()
	for _, done := range []<-chan struct{}{d.running.Done(), d.ended} { // a program that does not end is no failure of its lock
		select {
		case <-done:
		case <-time.After(stopping):
		}
		d.running.Kill()
	}
	return d.kill()
}

// askToEnd sends a stop, unless one was sent, and closes the stdin of the program.
func (d *dialogue) askToEnd() {
	d.mu.Lock()
	asked := d.stopped
	d.ending, d.stopped = true, true
	d.mu.Unlock()
	if !asked {
		d.send(protocol.Request{Type: protocol.Stop}, stopping)
	}
	_ = d.running.In.Close()
}

// kill ends the program. A child of it may have its stdout still.
func (d *dialogue) kill() error {
	d.running.Kill()
	_ = d.running.In.Close()
	err := d.running.Out.Close()
	<-d.ended
	return err
}

// receive passes answers on until the program ends, or prints a line that is none.
func (d *dialogue) receive() {
	defer close(d.ended)
	lines := bufio.NewScanner(d.running.Out)
	lines.Buffer(nil, LongestLine)
	var failed error
	for failed == nil && lines.Scan() {
		failed = d.receiveLine(lines.Bytes())
	}
	at := time.Now()
	switch {
	case failed != nil:
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		failed = fmt.Errorf("the program printed a line of more than %d bytes", LongestLine)
	default:
		failed = d.howEnded()
	}
	d.mu.Lock()
	d.failed, d.endedAt = failed, at
	d.mu.Unlock()
	go func() { _, _ = io.Copy(io.Discard, d.running.Out) }() // so that it is not blocked; it ends with the process
}

// howEnded waits for the end of a program that has closed its stdout, and says how it ended.
func (d *dialogue) howEnded() error {
	select {
	case <-d.running.Done():
		return fmt.Errorf("%w with %s", ErrEnded, d.running.Status())
	case <-time.After(stopping):
		return fmt.Errorf("%w its answers: its stdout is closed, and its process runs on", ErrEnded)
	}
}

func (d *dialogue) receiveLine(line []byte) error {
	d.transcribe("<", line)
	d.mu.Lock()
	defer d.mu.Unlock()
	a, err := protocol.Parse(line)
	if err == nil {
		err = d.take(a)
	}
	if err != nil {
		err = fmt.Errorf("the program printed %q: %w", Short(line), err)
	}
	return err
}

// take passes an answer on to the request that waits for it. The caller holds mu.
func (d *dialogue) take(a protocol.Answer) error {
	id := a.ID
	switch {
	case a.Type == protocol.Hello:
		id, d.greeted = helloID, true
	case !d.greeted:
		return fmt.Errorf("the first line must be a hello, and this is %s", a.Type)
	case a.Type == protocol.Ready, a.Type == protocol.Error && a.ID == "":
		id = readyID
	case a.Type == protocol.Lost:
		return d.heard(id, a)
	}
	asked, waits := d.waiting[id]
	switch {
	case !waits:
		return errors.New("no request with that id waits for an answer; it has had one, or was never sent")
	case !slices.Contains(answersTo[asked.is], a.Type):
		return fmt.Errorf("%s %q waits for an answer, which is one of %v; is an earlier request answered twice?",
			asked.is, id, answersTo[asked.is])
	}
	delete(d.waiting, id)
	if asked.is == protocol.Acquire {
		if err := d.heard(id, a); err != nil {
			return err
		}
	}
	asked.answer <- a
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
func (d *dialogue) expect(id string, is protocol.Type) chan protocol.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := make(chan protocol.Answer, 1)
	d.waiting[id] = request{is, answer}
	return answer
}

// send sends a request. A program that reads nothing does not block it for longer than within.
func (d *dialogue) send(r protocol.Request, within time.Duration) {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a request is texts and numbers
	}
	d.transcribe(">", text)
	_ = d.running.In.SetWriteDeadline(time.Now().Add(within))
	_, _ = d.running.In.Write(append(text, '\n')) // a program that has ended is noticed where its answer is awaited
}

// answer waits for an answer. The error is ErrSilent, the end of the program, a line that breaks the protocol, or the end of ctx.
func (d *dialogue) answer(
	ctx context.Context, id string, answer chan protocol.Answer, longest time.Duration,
) (a protocol.Answer, err error) {
	timeout := time.NewTimer(longest)
	defer timeout.Stop()
	select {
	case a = <-answer:
	case <-d.ended:
		select {
		case a = <-answer: // it was the last one
		default:
			return a, d.failed
		}
	case <-timeout.C:
		return a, fmt.Errorf("%w %q within %s", ErrSilent, id, longest.Round(time.Millisecond))
	case <-ctx.Done():
		return a, ctx.Err()
	}
	return a, nil
}
