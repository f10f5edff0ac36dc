package kit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

// Killed is the text of the fault of a node that was killed.
const Killed = "killed"

// Kill ends a server immediately.
func Kill(t *experiments.Trial, s stack.Server) {
	s.Kill()
	proof, err := s.Ended()
	t.Must(err)
	t.Fault(s.String(), Killed, proof)
}

// Hangs is the text of the fault of a node that accepts connections and answers nothing.
const Hangs = "hangs"

// Hang stops a node from running until the trial is over.
func Hang(ctx context.Context, t *experiments.Trial, n *stack.Node) {
	const silence = 100 * time.Millisecond
	t.Must(n.Pause())
	t.Cleanup(func() error { n.Resume(); return nil }) // before the clients close, which would wait for it
	probe := redis.NewClient(OneAttempt(n.Addr))
	defer probe.Close()
	short, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	if err := probe.Ping(short).Err(); err == nil {
		t.Must(fmt.Errorf("%s answers, although it was stopped", n.Name))
	}
	t.Fault(n.Name, Hangs, fmt.Sprintf("it was stopped, and answers no PING within %s", silence))
}

// Restart starts a node again, empty. A node that runs is killed before.
func Restart(ctx context.Context, t *experiments.Trial, n *stack.Node) {
	proof, err := t.Stack.Restart(ctx, n)
	t.Must(err)
	t.Fault(n.Name, "restarted empty", proof)
}

// HourAhead makes a node end its keys an hour early.
func HourAhead(ctx context.Context, t *experiments.Trial, n *stack.Node) {
	const by = time.Hour
	proof, err := t.Stack.ClockAhead(ctx, n, by)
	t.Must(err)
	t.Fault(n.Name, fmt.Sprintf("acts as if %s more had passed: its keys live shorter, its clock is untouched", by), proof)
}

// EndProxy ends a proxy for good: its connections are closed, and new ones are refused.
func EndProxy(t *experiments.Trial, p *stack.Proxy) {
	t.Must(p.Stop())
	connection, err := net.Dial("tcp", p.Addr)
	if err == nil {
		connection.Close()
		t.Must(fmt.Errorf("%s still accepts connections", p.Name))
	}
	t.Note(p.Name, "does not get through: "+err.Error())
}

// Drop lets a proxy drop what is sent in a direction. The proof is a connection that leads nowhere.
func Drop(ctx context.Context, t *experiments.Trial, p *stack.Proxy, d faultproxy.Direction) {
	before := p.Dropped()
	p.Drop(d)
	t.Cleanup(func() error { p.Mend(); return nil })
	probe := redis.NewClient(OneAttempt(p.Addr))
	probing, stop := context.WithCancel(ctx)
	defer probe.Close()
	defer stop()
	t.Go(func() { _ = probe.Ping(probing).Err() }) // no reply will come
	err := stack.Until(ctx, func(context.Context) error {
		if p.Dropped().Bytes == before.Bytes {
			return errors.New("nothing was dropped")
		}
		return nil
	})
	if err != nil {
		t.Must(fmt.Errorf("drop at %s: %w", p.Name, err))
	}
	lost := p.Dropped().Bytes - before.Bytes
	t.Fault(p.Name, "drops "+directions[d], fmt.Sprintf("a new connection led nowhere, and %d bytes were dropped", lost))
}

var directions = map[faultproxy.Direction]string{
	faultproxy.Both: "both directions", faultproxy.ToServer: "what is sent to the server", faultproxy.ToClient: "what is sent to the client",
}
