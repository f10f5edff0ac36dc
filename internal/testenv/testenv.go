// Package testenv finds real servers for tests. A test is skipped when a server that it needs is not on this machine; with LAB_REQUIRE=all
// (in CI) it fails. `go run ./internal/testenv/missing` prints what was missing and how to get it.
package testenv

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"locklab/stack"
)

// Need is a program that some tests need.
type Need struct {
	Name     string
	Programs []string // one of them is enough
	Debian   string   // package
	Homebrew string   // formula
	For      string
}

var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// The needs of this repository's tests.
var (
	RedisServer = Need{"redis-server", []string{"redis-server"}, "redis-server", "redis", "real Redis servers, all topologies"}
	MariaDB     = Need{"mariadbd", []string{"mariadbd"}, "mariadb-server", "mariadb", "orders in MySQL"}
	Etcd        = Need{"etcd", []string{"etcd"}, "etcd-server", "etcd", "the lock on etcd"}
	Memcached   = Need{"memcached", []string{"memcached"}, "memcached", "memcached", "the lock in Memcached"}
	Nginx       = Need{"nginx", []string{"nginx"}, "nginx", "nginx", "the balancer of docker-compose.yml"}
	Curl        = Need{"curl", []string{"curl"}, "curl", "curl", "the lines of the README"}
	Ps          = Need{"ps", []string{"ps"}, "procps", "procps", "a check for processes that were not stopped"}
	JDK         = Need{"javac", []string{"javac"}, "openjdk-17-jdk-headless", "openjdk", "the lock beside real Redisson"}
	Maven       = Need{"mvn", []string{"mvn"}, "maven", "maven", "the lock beside real Redisson"}
	Chromium    = Need{"chromium", browsers, "chromium", "--cask chromium", "the report in a browser"}
	ZooKeeper   = Need{"zookeeper", []string{"java"}, "zookeeper", "zookeeper", "the ZooKeeper lock"}
	Compiler    = Need{"cc", []string{"cc", "gcc", "clang"}, "gcc", "llvm", "the race detector"}
	Binlog      = Need{"mariadb-binlog", []string{"mariadb-binlog"}, "mariadb-client", "mariadb", "the cache that follows the binlog"}
	K6          = Need{"k6", []string{"k6"}, "", "k6", "the load scripts"} // loadtest/README.md has the version
)

// All returns every need.
func All() []Need {
	return []Need{RedisServer, MariaDB, ZooKeeper, Etcd, Memcached, Nginx, Curl, Ps, JDK, Maven, Chromium, Compiler, Binlog, K6}
}

// ByName returns the need with a name. It panics when there is none: a test that would be skipped for ever is a mistake.
func ByName(name string) Need {
	for _, n := range All() {
		if n.Name == name {
			return n
		}
	}
	panic("testenv: no need is called " + name)
}

// Met reports whether the need is on the PATH. ZooKeeper is jar files, and on no PATH.
func (n Need) Met() bool {
	if n.Name == ZooKeeper.Name {
		return stack.MissingZooKeeper() == nil
	}
	for _, program := range n.Programs {
		if _, err := exec.LookPath(program); err == nil {
			return true
		}
	}
	return false
}

// How says how to meet the need.
func (n Need) How() string {
	debian := "apt-get install " + n.Debian
	if n.Debian == "" {
		debian = "go install, as loadtest/README.md says"
	}
	return fmt.Sprintf("%s is missing (for %s): Debian %s, macOS brew install %s", n.Name, n.For, debian, n.Homebrew)
}

// RequireAll reports whether a missing program is a failure.
func RequireAll() bool { return os.Getenv("LAB_REQUIRE") == "all" }

// Needs skips the test unless n is met. With LAB_REQUIRE=all it fails the test instead.
func Needs(t testing.TB, n Need) {
	t.Helper()
	if !n.Met() {
		Skip(t, n.How())
	}
}

// Skip skips the test for want of something. With LAB_REQUIRE=all it fails the test instead.
func Skip(t testing.TB, why string) {
	t.Helper()
	if RequireAll() {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Main is the body of a TestMain. A process that is a supervisor does its work; any other runs the tests and checks that no goroutine is
// left.
func Main(m *testing.M) {
	stack.Reexec()
	// With the race detector every process sleeps for a second when it ends; tests start hundreds.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	redis.SetLogger(silent{}) // go-redis logs errors of servers that a test has killed
	_ = mysql.SetLogger(silent{})
	goleak.VerifyTestMain(m)
}

// silent is a log that drops everything.
type silent struct{}

// Printf prints nothing, for go-redis.
func (silent) Printf(context.Context, string, ...any) {}

// Print prints nothing, for the driver of MySQL.
func (silent) Print(...any) {}

// Stack returns a stack that ends with the test.
func Stack(t testing.TB) *stack.Stack {
	t.Helper()
	s, err := stack.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// Context ends before the deadline of the test binary, so that a test that hangs is reported by name.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Engines runs test over miniredis, which is always there, and over a real redis-server.
func Engines(t *testing.T, test func(t *testing.T, real bool)) {
	t.Run("miniredis", func(t *testing.T) { test(t, false) })
	t.Run("redis-server", func(t *testing.T) {
		Needs(t, RedisServer)
		test(t, true)
	})
}

// Redis starts one Redis server.
func Redis(t testing.TB, real bool) *stack.Node {
	t.Helper()
	node, err := Stack(t).Redis(Context(t), "redis", real)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// Ensemble starts one ZooKeeper server, or an ensemble of three.
func Ensemble(t testing.TB, n int) []*stack.ZooKeeperNode {
	t.Helper()
	Needs(t, ZooKeeper)
	nodes, err := Stack(t).ZooKeeper(Context(t), n)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// Eventually calls ok until it returns true, for at most a minute. It is for effects in other processes that send no event.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// Pause stops a server from running until Resume; an error fails the test.
func Pause(t testing.TB, server interface{ Pause() error }) {
	t.Helper()
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
}
