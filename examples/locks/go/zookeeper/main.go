// Command zookeeper is the Lock of github.com/go-zookeeper/zk as a program for app lab try. Lock waits without a bound, so a copy answers
// when it is granted: zookeeper. With zookeeper abandon, a wait that is over is answered, and a later grant is released. The timeout of the
// session is six seconds: the library needs two thirds of it to notice a dead connection, and waits for a second before it connects again.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lab/clients/protocol"
)

func main() {
	const session = 6 * time.Second
	claims := protocol.Claims{
		Name: "zk.Lock", Store: protocol.ZooKeeper, Renews: true, Messages: true, LeaseMS: session.Milliseconds(),
	}
	abandon := len(os.Args) > 1 && os.Args[1] == "abandon"
	if abandon {
		claims.Name = "zk.Lock, abandoned wait"
	}
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		conn, events, err := zk.Connect(start.Servers, session)
		if err != nil {
			return nil, err
		}
		for event := range events { // its default logger writes to stderr
			if event.State == zk.StateHasSession {
				break
			}
		}
		go func() {
			for range events {
			}
		}()
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
			return acquire(ctx, conn, r, abandon)
		}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func acquire(ctx context.Context, conn *zk.Conn, r protocol.Request, abandon bool) (protocol.Held, error) {
	lock := zk.NewLock(conn, "/"+r.Key, zk.WorldACL(zk.PermAll))
	granted, end := make(chan error, 1), make(<-chan struct{})
	go func() { granted <- lock.Lock() }()
	if abandon && r.WaitMS == 0 {
		tries, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // the library has no TryLock
		defer cancel()
		ctx = tries
	}
	if abandon {
		end = ctx.Done()
	}
	select {
	case err := <-granted:
		return protocol.Held{Release: func(context.Context) error { return notHeld(lock.Unlock()) }}, err
	case <-end:
		go func() {
			if <-granted == nil {
				_ = lock.Unlock()
			}
		}()
		return protocol.Held{}, protocol.ErrRefused
	}
}

func notHeld(err error) error {
	if errors.Is(err, zk.ErrNotLocked) || errors.Is(err, zk.ErrNoNode) {
		return protocol.ErrNotHeld
	}
	return err
}
