package scorecard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/clients/protocol"
)

// quorum is a lock over five servers, which grant it together.
type quorum struct {
	needs   int           // servers that must grant
	timeout time.Duration // for the answer of each
	nodes   []*redis.Client
	grants  atomic.Int64
}

// quorums are a sound one, and those with a defect.
var quorums = map[string]*quorum{
	"quorum":               {needs: 3, timeout: 100 * time.Millisecond},
	"needs all":            {needs: 5, timeout: 100 * time.Millisecond},
	"needs one":            {needs: 1, timeout: 100 * time.Millisecond},
	"patient with servers": {needs: 3, timeout: time.Hour},
}

func serveQuorum(name string, q *quorum) {
	claims := protocol.Claims{Name: name, Store: protocol.RedLock}
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		for _, addr := range start.Servers {
			q.nodes = append(q.nodes, redis.NewClient(&redis.Options{
				Addr: addr, MaxRetries: -1, DisableIdentity: true, ReadTimeout: q.timeout, DialTimeout: q.timeout,
			}))
		}
		return q.acquire, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// acquire asks the servers one after the other, until enough have granted the lock.
func (q *quorum) acquire(_ context.Context, r protocol.Request) (protocol.Held, error) {
	owner := fmt.Sprintf("%d-%d", os.Getpid(), q.grants.Add(1))
	for asked := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		granted := 0
		for _, node := range q.nodes {
			if token, _ := grantScript.Run(context.Background(), node, []string{r.Key}, owner, r.LeaseMS).Uint64(); token > 0 {
				granted++
			}
		}
		switch {
		case granted >= q.needs:
			return protocol.Held{Release: func(context.Context) error { return q.release(r.Key, owner) }}, nil
		case time.Since(asked) >= r.Wait():
			return protocol.Held{}, errors.Join(protocol.ErrRefused, q.release(r.Key, owner))
		}
		_ = q.release(r.Key, owner)
	}
}

// release reports that the lock was not held, when fewer servers had it than are needed.
func (q *quorum) release(key, owner string) error {
	freed := 0
	for _, node := range q.nodes {
		n, _ := freeScript.Run(context.Background(), node, []string{key}, owner).Int()
		freed += n
	}
	if freed < q.needs {
		return protocol.ErrNotHeld
	}
	return nil
}
