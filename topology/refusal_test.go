package topology_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
	"locklab/lab/testenv"
	"locklab/topology"
)

// A Redis that has too many clients says so, and closes the connection: the error has its reason, beside the broken pipe.
func TestRedisWithTooManyClientsSaysSo(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	admin := redis.NewClient(&redis.Options{Addr: node.Addr, MaxRetries: -1, PoolSize: 1})
	defer admin.Close()
	if err := admin.ConfigSet(t.Context(), "maxclients", "1").Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the error has the server's reason", func() bool { // for which a client does not wait long
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := topology.Open(ctx, topology.Config{Kind: topology.Single, Addrs: []string{node.Addr}})
		return err != nil && strings.Contains(err.Error(), "max number of clients")
	})
}

// So does a client that is open when it needs another connection. Its command was not sent.
func TestACommandWithoutAConnectionWasNotSent(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node, ctx := testenv.Redis(t, true), testenv.Context(t)
	r := open(t, topology.Config{Kind: topology.Single, Addrs: []string{node.Addr}})
	if err := r.Master.ConfigSet(ctx, "maxclients", "1").Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the error has the server's reason", func() bool {
		answers, told := make(chan error, 2), false
		for range cap(answers) {
			go func() { answers <- r.Master.BLPop(ctx, 50*time.Millisecond, "empty").Err() }()
		}
		for range cap(answers) {
			err := <-answers
			if !errors.Is(err, redis.Nil) && replies.MayHaveRun(err) {
				t.Errorf("%v, which says that it may have been executed", err)
			}
			told = told || err != nil && strings.Contains(err.Error(), "max number of clients")
		}
		return told
	})
}

func TestMemcachedWithTooManyClientsSaysSo(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Memcached)
	server, err := testenv.Stack(t).Memcached(testenv.Context(t), "-c", "64")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := topology.Connect(testenv.Context(t), "memcached", topology.Config{Addrs: []string{server.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	client := opened.Backend().(*memcache.Client)
	_ = client.Close()               // its idle connections
	for refused := 0; refused < 9; { // the server notices the end of a connection a moment later
		conn, err := net.Dial("tcp", server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		line := make([]byte, 5)
		_, _ = fmt.Fprint(conn, "version\r\n")
		if _, err := io.ReadFull(conn, line); err != nil || string(line) == "ERROR" {
			refused++
		}
	}
	for range 5 {
		for _, err := range []error{client.Set(&memcache.Item{Key: "k"}), opened.Ping(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), "Too many open connections") {
				t.Errorf("got %v, want the server's reason", err)
			}
		}
	}
}
