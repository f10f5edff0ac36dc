//go:build unix

package deploy_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lab/testenv"
	"locklab/order"
	"locklab/pview"
	"locklab/versions"
)

// nginx is a process with deploy/nginx.conf, changed to other addresses.
type nginx struct {
	url string
	log string // the access log
}

// start starts nginx in front of two instances. edits are pairs: an old part of the configuration, and the new one.
func start(t *testing.T, one, two string, edits ...string) nginx {
	t.Helper()
	testenv.Needs(t, testenv.Nginx)
	conf, err := os.ReadFile("nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir, listen := t.TempDir(), testenv.FreeAddr(t)
	n := nginx{url: "http://" + listen, log: filepath.Join(dir, "access.log")}
	upstream, err := os.ReadFile("nginx/two.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf = bytes.Replace(conf, []byte("include instances.conf;"), upstream, 1)
	edits = append(edits, "app-1:8080", one, "app-2:8090", two, "listen 8000", "listen "+listen, "/dev/stdout", n.log, "/tmp/", dir+"/")
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(string(conf), edits[i]) {
			t.Fatalf("nginx.conf has no %q: adapt this test", edits[i])
		}
	}
	text := strings.Replace(strings.NewReplacer(edits...).Replace(string(conf)), "page:8070", one, 1) // unless an edit has named another
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nginx", "-p", dir, "-c", file, "-g", "daemon off;")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	testenv.Eventually(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", listen)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return n
}

// instances are two instances of the app that share one Redis.
func instances(t *testing.T) (one, two *httptest.Server) {
	t.Helper()
	// A burst does not wait for connections: with few of them the last requests would wait too long on a busy machine.
	client := redis.NewClient(&redis.Options{Addr: testenv.Redis(t, false).Addr, PoolSize: 256})
	t.Cleanup(func() { client.Close() })
	orders, err := order.OpenStore(testenv.Context(t), "sqlite:"+filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { orders.Close() })
	instance := func(name string) *httptest.Server {
		server := httptest.NewServer(handlers.New(handlers.Config{
			Instance: name, Versions: []handlers.Version{{Version: versions.Version{Name: "v0"}}},
			Metrics: handlers.NewMetrics(), Log: slog.New(slog.DiscardHandler),
			Views: pview.NewCounter(client, func() redis.UniversalClient { return client }), Orders: orders,
		}))
		t.Cleanup(server.Close)
		return server
	}
	return instance("8080"), instance("8090")
}

func address(server *httptest.Server) string { return server.Listener.Addr().String() }
