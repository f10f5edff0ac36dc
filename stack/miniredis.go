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
	"time"

	"github.com/alicebob/miniredis/v2"
)

// listening is what a miniredis prints before its address.
const listening = "miniredis listens at "

// miniredis starts a Redis written in Go, as a process, and waits until it says where it listens.
func (s *Stack) miniredis(ctx context.Context, name string) (*Node, error) {
	start := func(addr string) (*Process, error) {
		return s.self(name, nil, nil, miniredisRole, addrVariable+"="+addr)
	}
	p, err := start("")
	if err != nil {
		return nil, err
	}
	node := &Node{Server: p, Name: name, start: start}
	node.Addr, err = said(ctx, p)
	return node, err
}

// self starts this very binary in a role of its own.
func (s *Stack) self(name string, in, out *os.File, role string, env ...string) (*Process, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	return s.talking(name, in, out, append(append(os.Environ(), serverVariable+"="+role), env...), binary)
}

// said waits until a miniredis says where it listens.
func said(ctx context.Context, p *Process) (addr string, err error) {
	return addr, await(ctx, p, func(context.Context) error {
		return p.printed(func(line string) (found bool) {
			addr, found = strings.CutPrefix(line, listening)
			return found
		})
	})
}

// serveMiniredis serves until SIGTERM, at the address it is given or a free port. miniredis's clock stands still unless it is
// told how much time has passed, so that tests can move it; here it follows the real one.
func serveMiniredis(out io.Writer) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(cmp.Or(os.Getenv(addrVariable), "127.0.0.1:0")); err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	defer server.Close()
	fmt.Fprintln(out, listening+server.Addr())
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ended:
			return 0
		case now := <-tick.C:
			server.FastForward(now.Sub(last))
			last = now
		}
	}
}
