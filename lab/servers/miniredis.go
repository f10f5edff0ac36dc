package servers

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alicebob/miniredis/v2"
)

// listening is what a miniredis prints when it serves.
const listening = "miniredis listens"

// miniredis starts a Redis written in Go, as a process, and waits until it says that it listens.
func (s *Stack) miniredis(ctx context.Context, name string) (*Node, error) {
	n := &Node{Restartable: Restartable{Name: name}}
	n.start = func() (*Process, error) {
		return s.start(s.inRole(miniredisRole, command{name: name, env: []string{addrVariable + "=" + n.Addr}}))
	}
	n.ready = func(context.Context) (string, error) {
		return "", n.Server.(*Process).findOutput(func(line string) bool { return line == listening })
	}
	return n, s.startAtFreeAddr(ctx, &n.Restartable)
}

// serveMiniredis serves until SIGTERM, at the address in its environment. Keys expire by the real clock, which is read at each command,
// also inside a script, where a real server stops it. A clock that a ticker moves is behind on a busy machine. It ends a key early that
// was written meanwhile.
func serveMiniredis(out io.Writer) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(os.Getenv(addrVariable)); err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	defer server.Close()
	server.ClockTTL(true)
	fmt.Fprintln(out, listening)
	<-ended
	return 0
}
