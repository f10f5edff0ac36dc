package interop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/topology"
	"locklab/versions"
)

// peerVariable makes this test binary one of our processes, which lock and count as the JVMs do.
const peerVariable = "LOCKLAB_INTEROP_PEER"

// ours is what one of our processes has: the verbs connect, disconnect, increment, share and enough of Peer.java.
type ours struct {
	backends map[string]*topology.Redis // by topology
	counters map[string]*counter        // by thread
}

// serve answers until nobody asks any more.
func serve(in io.Reader, out io.Writer) {
	o := ours{backends: make(map[string]*topology.Redis), counters: make(map[string]*counter)}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 3 {
			fmt.Fprintln(out, words, "error: THREAD VERB TOPOLOGY")
			continue
		}
		answer, err := o.execute(words[0], words[1], words[2], words[3:])
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		} else {
			answer = "ok " + answer
		}
		fmt.Fprintln(out, words[0], answer)
	}
}

func (o ours) execute(thread, verb, kind string, words []string) (string, error) {
	ctx := context.Background()
	switch verb {
	case "connect":
		r, err := topology.Open(ctx, config(kind, words))
		o.backends[kind] = r
		return "", err
	case "disconnect":
		return "", o.backends[kind].Close()
	case "increment": // the strategy's name, then as in Counter.java
		c, err := newCounter(ctx, o.backends[kind].Master, words)
		if err != nil {
			return "", err
		}
		o.counters[thread] = c
		return "", nil
	case "share":
		return o.counters[thread].share()
	case "enough":
		return o.counters[thread].enough()
	}
	return "", fmt.Errorf("no verb %q", verb)
}

func config(kind string, addrs []string) topology.Config {
	kind = strings.Replace(kind, unsharded, "cluster", 1)
	return topology.Config{Kind: topology.Kind(kind), Addrs: addrs, SentinelMaster: servers.SentinelMaster}
}

// counter adds one under the lock, by a read and a write, as Counter.java does and says why.
type counter struct {
	locks   *versions.Opened
	client  redis.UniversalClient
	key     string
	counted string
	wanted  int
	limit   int64
	ctx     context.Context // ends when it is enough
	end     context.CancelFunc
	threads sync.WaitGroup
	had     chan struct{} // closed when the share is done

	mu    sync.Mutex
	wrote []string
	err   error
}

func newCounter(ctx context.Context, client redis.UniversalClient, words []string) (*counter, error) {
	var numbers [3]int
	var err error
	for i, word := range words[3:] {
		number, bad := strconv.Atoi(word)
		numbers[i], err = number, errors.Join(err, bad)
	}
	if err != nil {
		return nil, err
	}
	locks, err := versions.Open(words[0], versions.Backends{Redis: client})
	if err != nil {
		return nil, err
	}
	c := &counter{
		locks: locks, client: client, key: words[1], counted: words[2],
		wanted: numbers[1], limit: int64(numbers[2]), had: make(chan struct{}),
	}
	c.ctx, c.end = context.WithCancel(ctx)
	for range numbers[0] {
		c.threads.Go(func() {
			if err := c.work(); err != nil {
				c.fail(err)
			}
		})
	}
	return c, nil
}

// share waits until this process has had its share; the goroutines go on.
func (c *counter) share() (string, error) {
	select {
	case <-c.had:
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return strconv.Itoa(len(c.wrote)), c.err
}

// enough ends the goroutines and returns what they wrote, in order.
func (c *counter) enough() (string, error) {
	c.end()
	c.threads.Wait()
	c.fail(c.locks.Close())
	return strings.Join(c.wrote, " "), c.err
}

func (c *counter) work() error {
	for {
		lease, err := c.locks.Acquire(c.ctx, c.key)
		if c.ctx.Err() != nil && errors.Is(err, c.ctx.Err()) {
			return nil
		}
		if err != nil {
			return err
		}
		if c.ctx.Err() == nil {
			err = c.increment(lease.Context())
		}
		if err = errors.Join(err, lease.Release(context.Background())); err != nil {
			return err
		}
	}
}

func (c *counter) increment(ctx context.Context) error {
	value, err := c.client.Get(ctx, c.counted).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	value++
	if err := c.client.Set(ctx, c.counted, value, 0).Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = append(c.wrote, strconv.FormatInt(value, 10))
	if len(c.wrote) == c.wanted {
		close(c.had)
	}
	if value >= c.limit {
		c.end()
	}
	return nil
}

func (c *counter) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
	if err != nil {
		c.end()
	}
}

// process starts one of our processes.
func process(t *testing.T, name string) *peer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := startPeer(t, name, self)
	p.isOurs = true
	return p
}

// peerMain is TestMain of a process that is one of ours.
func peerMain() {
	if os.Getenv(peerVariable) != "" {
		serve(os.Stdin, os.Stdout)
		os.Exit(0)
	}
}
