package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

// lockKey is what every client of this package locks, unless it says something else.
const lockKey = "lock:counter"

// killed is what stands in the fault of a node that was.
const killed = "killed"

// kill ends a node at once.
func kill(t *experiments.Trial, n *stack.Node) error {
	n.Kill()
	proof, err := n.Ended()
	if err == nil {
		t.Fault(n.Name, killed, proof)
	}
	return err
}

// restart starts a node again, empty, and kills it before if it runs.
func restart(ctx context.Context, t *experiments.Trial, n *stack.Node) error {
	proof, err := t.Stack.Restart(ctx, n)
	if err == nil {
		t.Fault(n.Name, "restarted empty", proof)
	}
	return err
}

// clockAhead makes a node believe that more time has passed.
func clockAhead(ctx context.Context, t *experiments.Trial, n *stack.Node, by time.Duration) error {
	proof, err := t.Stack.ClockAhead(ctx, n, by)
	if err == nil {
		t.Fault(n.Name, fmt.Sprintf("believes that %s more have passed: the life of its keys was shortened, its clock is untouched", by), proof)
	}
	return err
}

// cut cuts a link for everybody. The proof is a connection that leads nowhere.
func cut(ctx context.Context, t *experiments.Trial, l *stack.Proxy, d faultproxy.Direction) error {
	before := l.Dropped()
	l.Drop(d)
	t.Cleanup(func() error { l.Mend(); return nil })
	probe := redis.NewClient(&redis.Options{Addr: l.Addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, ContextTimeoutEnabled: true})
	asked, stop := context.WithCancel(ctx)
	defer probe.Close()
	defer stop()
	t.Go(func() { _ = probe.Ping(asked).Err() }) // nobody will answer
	if err := stack.Until(ctx, func(context.Context) error {
		if l.Dropped().Bytes == before.Bytes {
			return errors.New("nothing got lost")
		}
		return nil
	}); err != nil {
		return fmt.Errorf("cut %s: %w", l.Name, err)
	}
	lost := l.Dropped().Bytes - before.Bytes
	t.Fault(l.Name, "cut "+directions[d], fmt.Sprintf("a new connection led nowhere, and %d bytes got lost", lost))
	return nil
}

var directions = map[faultproxy.Direction]string{
	faultproxy.Both: "in both directions", faultproxy.ToServer: "towards the server", faultproxy.ToClient: "towards the client",
}
