//go:build unix

package main

import (
	"context"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// token is the admin token of the pair.
const token = "hush"

// turn is of the test that uses the pair: a burst resets the counter of all versions.
var turn sync.Mutex

// pair returns two instances behind a balancer that all tests share, which take turns. They have flags of their own, so that tests see
// whether these take effect. A test that breaks an instance or its servers starts others.
func pair(t *testing.T) burst.Running {
	t.Helper()
	turn.Lock()
	t.Cleanup(turn.Unlock)
	running, err := startPair()
	if err != nil {
		t.Fatal(err)
	}
	return running
}

var startPair = sync.OnceValues(func() (running burst.Running, err error) {
	self, err := os.Executable()
	if err != nil {
		return running, err
	}
	s, err := servers.New()
	if err != nil {
		return running, err
	}
	testenv.AtEnd(func() error {
		http.DefaultClient.CloseIdleConnections()
		return s.Close()
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return burst.Service{
		App: []string{self, "serve"}, Topology: "single", Real: servers.RealRedis(), Instances: 2, Named: true, Listen: "127.0.0.1:0",
		Think: 100 * time.Millisecond, // enough for both instances to read an order before one writes it
		Flags: []string{
			"--admin-token=" + token, "--supplier-limit=3", "--cache-ttl=1m",
			"--item-query=1s", // slow enough that loads overlap
		},
	}.Start(ctx, s, nil)
})
