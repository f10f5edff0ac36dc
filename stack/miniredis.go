package stack

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

func (s *Stack) startMiniredis(name, addr string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	return s.start(name, append(os.Environ(), serverVariable+"="+miniredisRole), self, addr)
}

// serveMiniredis is a Redis written in Go, until SIGTERM. Its clock stands still unless it is told
// how much time has passed, so that tests can move it; here it follows the real one.
func serveMiniredis(addr string, stderr io.Writer) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	defer server.Close()
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
