package worker

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// openZooKeeper opens go-zookeeper's own Lock: a node for each waiter below the key, over one connection of the process. It knows no
// context, so a waiter that is cancelled waits on.
func openZooKeeper(addr string) (Lock, func() error, error) {
	conn, _, err := zk.Connect([]string{addr}, lifetime, zk.WithLogInfo(false), zk.WithLogger(quiet{}))
	if err != nil {
		return nil, nil, err
	}
	for until := time.Now().Add(connects); conn.State() != zk.StateHasSession; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			conn.Close()
			return nil, nil, zk.ErrNoServer
		}
	}
	lock := func(_ context.Context, key string) (func() error, error) {
		l := zk.NewLock(conn, "/"+key, zk.WorldACL(zk.PermAll))
		return l.Unlock, l.Lock()
	}
	return lock, func() error { conn.Close(); return nil }, nil
}

// quiet is a logger: the library logs to standard error otherwise.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
