// Package testenv finds real servers for tests. A test is skipped when a server that it needs is not on this machine, and fails when
// LAB_REQUIRE names that server. `go run ./lab/testenv/missing` prints what is missing and how to get it.
package testenv

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"locklab/lab/servers"
	"locklab/lab/testenv/leaks"
)

// Need is a program that some tests need.
type Need struct {
	Name     string
	Programs []string // one of them is enough
	Debian   string   // package
	Homebrew string   // formula
	For      string
	Slow     bool // `go test -short` leaves its tests out: it is a server, a browser or a load tool
	In       Part // of `make check`: no other tests need it
}

var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// The needs of this repository's tests.
var (
	RedisServer = Server("redis")
	MariaDB     = Server("database")
	Etcd        = Server("etcd")
	Memcached   = Server("memcached")
	ZooKeeper   = Server("zookeeper")
	Nginx       = program(servers.NginxServer, "the balancer of A4 and of docker-compose.yml")
	Prometheus  = Need{"prometheus", []string{"prometheus"}, "prometheus", "prometheus", "the metrics and their dashboard", true, ""}
	Curl        = Need{"curl", []string{"curl"}, "curl", "curl", "the lines of the README", false, ""}
	Ps          = Need{"ps", []string{"ps"}, "procps", "", "a check for processes that were not stopped", false, ""}
	JDK         = Need{"javac", []string{"javac"}, "openjdk-17-jdk-headless", "openjdk", "the lock beside real Redisson", true, Interop}
	Maven       = Need{"mvn", []string{"mvn"}, "maven", "maven", "the lock beside real Redisson", true, Interop}
	Articles    = Need{servers.ArticlesJava.Name, nil, "", "", "the Java of the articles", false, Whole}
	Chromium    = Need{"chromium", browsers, "chromium", "--cask chromium", "the report in a browser", true, ""}
	Compiler    = Need{"cc", []string{"cc", "gcc", "clang"}, "gcc", "", "the race detector", false, ""}
	K6          = Need{"k6", []string{"k6"}, "", "k6", "the load scripts", true, ""} // loadtest/README.md has the version
)

// Server is the need of tests that start real servers of a kind. A program that package servers would build in its place does not count.
func Server(kind string) Need {
	k, known := servers.KindNamed(kind)
	if !known {
		panic("testenv: there is no kind of server " + kind)
	}
	return program(k.Program, "real servers of "+k.Title)
}

func program(p servers.Program, purpose string) Need {
	return Need{Name: p.Name, Programs: []string{p.Name}, Debian: p.Debian, Homebrew: p.Homebrew, For: purpose, Slow: true}
}

// All returns every need, each program once.
func All() (all []Need) {
	for _, kind := range servers.KindNames() {
		if n := Server(kind); !slices.ContainsFunc(all, func(other Need) bool { return other.Name == n.Name }) {
			all = append(all, n)
		}
	}
	return append(all, Nginx, Prometheus, Curl, Ps, JDK, Maven, Articles, Chromium, Compiler, K6)
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

// Met reports whether the need is on the PATH. ZooKeeper and the Java of the articles are jar files, and on no PATH.
func (n Need) Met() bool {
	if n.Name == ZooKeeper.Name || n.Name == Articles.Name {
		return servers.ProgramNamed(n.Name).Missing() == nil
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
	if n.Name == Articles.Name {
		return fmt.Sprintf("%s is missing (for %s): %v", n.Name, n.For, servers.ArticlesJava.Missing())
	}
	debian := "apt-get install " + n.Debian
	if n.Debian == "" {
		debian = "go install, as loadtest/README.md says"
	}
	how := fmt.Sprintf("%s is missing (for %s): Debian %s", n.Name, n.For, debian)
	if n.Homebrew != "" {
		how += ", macOS brew install " + n.Homebrew
	}
	return how
}

// all, as the value of LAB_REQUIRE or LAB_PARTS, stands for every name.
const all = "all"

// namesIn are the items of a variable of the environment, a list with commas.
func namesIn(variable string) []string {
	names := strings.Split(os.Getenv(variable), ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}

// listed reports whether a variable of the environment, a list with commas, has the name.
func listed(variable, name string) bool {
	names := namesIn(variable)
	return slices.Contains(names, name) || slices.Contains(names, all)
}

// Required reports whether it is a failure when the need is not met: LAB_REQUIRE is "all", or a list that has its name.
func (n Need) Required() bool { return listed("LAB_REQUIRE", n.Name) }

// Unknown returns the names in LAB_REQUIRE that no need has.
func Unknown() []string {
	return slices.DeleteFunc(namesIn("LAB_REQUIRE"), func(name string) bool {
		return name == "" || name == all || slices.ContainsFunc(All(), func(n Need) bool { return n.Name == name })
	})
}

// Needs skips the test unless n is met. It fails the test when n is required. A need that is slow is one of [Slow], too.
func Needs(t testing.TB, n Need) {
	t.Helper()
	if n.Slow {
		Slow(t)
	}
	switch {
	case n.Met():
	case n.Required():
		t.Fatal(n.How())
	default:
		t.Skip(n.How())
	}
}

// Skip skips the test for want of something that is no [Need]. With LAB_REQUIRE=all it fails the test instead.
func Skip(t testing.TB, why string) {
	t.Helper()
	if listed("LAB_REQUIRE", all) {
		t.Fatal(why)
	}
	t.Skip(why)
}

// A Part is a part of `make check` that runs tests which `make test` leaves out.
type Part string

// The parts that have such tests.
const (
	Interop Part = "interop" // real Redisson beside the lock
	Page    Part = "page"    // every screen of the live page in Chromium, of which `make test` has two
	Pages   Part = "pages"   // links, commands and generated tables of pages
	Whole   Part = "tests"   // each combination, of which `make test` has one of a kind

	Containers Part = "containers" // the lines of the pages in containers. It needs Docker and the images, so "all" does not run it
)

// Runs reports whether LAB_PARTS is "all", or a list that has the part's name. `make check PART=...` sets it.
func (p Part) Runs() bool {
	if p == Containers {
		return slices.Contains(namesIn("LAB_PARTS"), string(p))
	}
	return listed("LAB_PARTS", string(p))
}

// Check leaves a test out unless the part runs.
func Check(t testing.TB, part Part) {
	t.Helper()
	if !part.Runs() {
		t.Skipf("make check PART=%s runs it", part)
	}
}

// Slow leaves a test out of `go test -short`: it takes long, or starts many processes.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short")
	}
}

// Main is the body of a TestMain: [MainParallel] with eight tests simultaneously, whatever the number of processors. Tests wait for servers
// most of the time.
func Main(m *testing.M) { MainParallel(m, 8) }

// MainParallel runs n tests of a package simultaneously, unless the flag -parallel says otherwise. A process that a stack started does its
// work; any other runs the tests and checks that no goroutine is left.
func MainParallel(m *testing.M, n int) {
	servers.Reexec()
	testing.Init() // the flag exists from here on
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
	// With the race detector every process sleeps for a second when it ends; tests start hundreds.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	redis.SetLogger(silent{}) // go-redis logs errors of servers that a test has killed
	_ = mysql.SetLogger(silent{})
	// go-redis dials a lost server once a second, and notices only then that its client was closed.
	leaks.Main(closing{m}, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// closing runs tests, and then ends what they share.
type closing struct{ *testing.M }

// Run returns the exit code.
func (c closing) Run() int {
	code := c.M.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// silent is a log that drops everything.
type silent struct{}

// Printf prints nothing, for go-redis.
func (silent) Printf(context.Context, string, ...any) {}

// Print prints nothing, for the driver of MySQL.
func (silent) Print(...any) {}

// Stack returns a stack that ends with the test.
func Stack(t testing.TB) *servers.Stack {
	t.Helper()
	s, err := servers.New()
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

// FreeAddr returns an address of the loopback interface for a server that a test starts later. No other test is given it meanwhile.
func FreeAddr(t testing.TB) string {
	t.Helper()
	addrs, err := Stack(t).FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}

// Topology starts real Redis servers that are arranged as kind says, and end with the test. `go test -short` leaves every kind out but
// "single".
func Topology(t testing.TB, kind string) *servers.Topology {
	t.Helper()
	Needs(t, RedisServer)
	if kind != "single" {
		Slow(t)
	}
	started, err := Stack(t).Topology(Context(t), kind, true)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// longestStart bounds what a test waits for, above all the start of a server.
const longestStart = 2 * time.Minute

// Context ends before the deadline of the test binary, so that a test that hangs is reported by name.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), longestStart)
	t.Cleanup(cancel)
	return ctx
}

// Go calls f in the background. The test waits for f before it ends, so f may report to t. ctx ends as [Context] does, and with the test.
func Go(t testing.TB, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(t.Context(), longestStart)
	ended := make(chan struct{})
	go func() { defer close(ended); f(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
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
func Redis(t testing.TB, real bool) *servers.Node {
	t.Helper()
	node, err := Stack(t).Redis(Context(t), "redis", real)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// Ensemble starts one ZooKeeper server, or an ensemble of three.
func Ensemble(t testing.TB, n int) []*servers.ZooKeeperNode {
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
