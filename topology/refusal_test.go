package topology_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
)

const tooMany = "ERR max number of clients"

// refuseAll makes a Redis refuse each new client, and ends the connections that it has. It returns what ends that.
func refuseAll(t *testing.T, node *servers.Node) (accept func()) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: node.Addr, MaxRetries: -1})
	admin := client.Conn() // the only connection that stays
	t.Cleanup(func() { _, _ = admin.Close(), client.Close() })
	pipe := admin.Pipeline()
	pipe.ConfigSet(t.Context(), "maxclients", "1")
	pipe.Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes")
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := admin.ConfigSet(t.Context(), "maxclients", "1000").Err(); err != nil {
			t.Error(err)
		}
	}
}

// wantReason demands that err has the server's reason, and says that no command was sent: it is an error of the dial.
func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	op := new(net.OpError)
	if !errors.As(err, &op) || op.Op != "dial" || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v, want an error of the dial with %q", err, reason)
	}
}

// A Redis that has too many clients says so, and closes the connection. The client is told that, and not of a broken pipe. It finds the
// server as soon as that accepts clients again.
func TestARefusedConnectionHasTheServersReason(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	for _, kind := range []topology.Kind{topology.Single, topology.Cluster} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(kind))
			r, ctx := open(t, config(started)), testenv.Context(t)
			var accept []func()
			for _, node := range started.Nodes {
				accept = append(accept, refuseAll(t, node))
			}
			testenv.Eventually(t, "no connection is left", func() bool { return r.Master.Incr(ctx, "key").Err() != nil })
			for range 5 {
				wantReason(t, r.Master.Incr(ctx, "key").Err(), tooMany)
			}
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := topology.Open(short, config(started))
			wantReason(t, err, tooMany)
			for _, accepts := range accept {
				accepts()
			}
			testenv.Eventually(t, "it is connected", func() bool { return r.Ping(ctx) == nil })
		})
	}
}

// The server may have closed the connection before the client's first write: the reason is still in the socket then.
func TestARefusalIsReadWhenNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	r := open(t, topology.Config{Kind: topology.Single, Addrs: []string{node.Addr}})
	refuseAll(t, node)
	conn, err := r.Master.(*redis.Client).Options().Dialer(t.Context(), "tcp", node.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testenv.Eventually(t, "nothing can be written", func() bool {
		_, err = fmt.Fprint(conn, "PING\r\n")
		return err != nil
	})
	wantReason(t, err, tooMany)
}

// A connection that has replied and ends is a lost reply, although its first reply was an error.
func TestALostReplyIsNoRefusal(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	r := open(t, topology.Config{Kind: topology.Single, Addrs: []string{node.Addr}})
	conn, err := r.Master.(*redis.Client).Options().Dialer(t.Context(), "tcp", node.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply := make([]byte, 100)
	for _, command := range []string{"HELLO 99\r\n", "PING\r\n"} {
		if _, err := fmt.Fprint(conn, command); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(reply); err != nil {
			t.Fatal(err)
		}
	}
	node.Kill()
	op := new(net.OpError)
	if _, err = conn.Read(reply); err == nil || errors.As(err, &op) && op.Op == "dial" {
		t.Errorf("got %v, want the end of the connection", err)
	}
}

// The clients of Memcached and of MariaDB show the server's reason themselves.
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

func TestMariaDBWithTooManyClientsSaysSo(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--max-connections=10")
	if err != nil {
		t.Fatal(err)
	}
	ctx := testenv.Context(t)
	opened, err := topology.Connect(ctx, "database", topology.Config{Addrs: []string{"mysql:" + server.DSN}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	db, err := opened.Backend().(*gorm.DB).DB()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		var conn *sql.Conn
		if conn, err = db.Conn(ctx); err != nil {
			break
		}
		defer conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "Too many connections") {
		t.Errorf("got %v, want the server's reason", err)
	}
}
