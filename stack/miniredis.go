package stack

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alicebob/miniredis/v2"
)

// listening is what a miniredis prints before its address.
const listening = "miniredis listens at "

// miniredis starts a Redis written in Go, as a process, and waits until it prints its address.
func (s *Stack) miniredis(ctx context.Context, name string) (*Node, error) {
	start := func(addr string) (*Process, error) {
		return s.start(s.inRole(miniredisRole, command{name: name, env: []string{addrVariable + "=" + addr}}))
	}
	p, err := start("")
	if err != nil {
		return nil, err
	}
	node := &Node{Server: p, Name: name, start: start}
	return node, await(ctx, p, func(context.Context) error {
		return p.findOutput(func(line string) (found bool) {
			node.Addr, found = strings.CutPrefix(line, listening)
			return found
		})
	})
}

// serveMiniredis serves until SIGTERM, at the address in its environment or on a free port. Keys expire by the real clock, which is
// read at each command, also inside a script, where a real server stops it. A clock that a ticker moves is behind on a busy machine. It
// ends a key early that was written meanwhile.
func serveMiniredis(out io.Writer) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(cmp.Or(os.Getenv(addrVariable), "127.0.0.1:0")); err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	defer server.Close()
	server.ClockTTL(true)
	fmt.Fprintln(out, listening+server.Addr())
	<-ended
	return 0
}
