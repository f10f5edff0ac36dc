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
