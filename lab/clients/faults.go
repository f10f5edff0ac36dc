package clients

import (
	"cmp"
	"context"
	"fmt"
	"net"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// Killed marks the fault of a node that was killed.
var Killed = history.Mark{Name: "killed"}

// Kill ends a server immediately.
func Kill(t *lab.Trial, s servers.Server) {
	s.Kill()
	proof, err := s.Ended()
	t.Must(err)
	t.Break(s.String(), Killed, proof)
}

// Restart starts a node again, empty. A node that runs is killed before.
func Restart(ctx context.Context, t *lab.Trial, n *servers.Node) {
	proof, err := n.Restart(ctx)
	t.Must(err)
	t.Fault(n.Name, "restarted empty", proof)
}

// AwaitReplication waits until replicas have confirmed everything that their master has written so far.
func AwaitReplication(ctx context.Context, t *lab.Trial, master *servers.Node, replicas []*servers.Node) {
	written, err := master.Number(ctx, "replication", "master_repl_offset")
	t.Must(err)
	for _, n := range replicas {
		t.Must(n.Await(ctx, func(ctx context.Context) error {
			has, err := n.Number(ctx, "replication", "slave_repl_offset")
			if err == nil && has < written {
				err = fmt.Errorf("it has %d of %d bytes", has, written)
			}
			return err
		}))
	}
	t.Note(master.Name, fmt.Sprintf("every replica has all of its %d bytes", written))
}

// EndProxy ends a proxy for good: its connections are closed, and each new one is closed immediately. It returns what proves that. The
// proxy keeps its port, because any other server could take a free one, and a client would reach that.
func EndProxy(ctx context.Context, t *lab.Trial, p *servers.Proxy) (proof string) {
	p.Cut()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", p.Addr)
	t.Must(err)
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	if n, err := connection.Read(make([]byte, 1)); n > 0 || ctx.Err() != nil {
		t.Must(fmt.Errorf("%s does not close a new connection: %w", p.Name, cmp.Or(err, ctx.Err())))
	}
	return "a new connection was closed immediately"
}
