//go:build unix

package servers_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// starterVariable makes this test binary start a stack and wait to be killed.
const starterVariable = "LOCKLAB_TEST_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv("LOCKLAB_STACK_ROLE") == "" && os.Getenv(starterVariable) != "" {
		starter()
	}
	testenv.Main(m)
}

// starter is a program that uses a stack, prints what it started, and never stops it. One of its programs has a child.
func starter() {
	s, err := servers.New()
	if err == nil {
		for i := range 3 {
			var node *servers.Node
			if node, err = s.Redis(context.Background(), fmt.Sprint("redis-", i), false); err != nil {
				break
			}
			fmt.Println(pid(node), node.Addr)
		}
	}
	child := 0
	program, err := s.Program("program", "sh", "-c", "sleep 600 & echo $!; wait")
	if err == nil {
		_, err = fmt.Fscan(program.Out, &child)
	}
	fmt.Println(child, s.Dir(), err)
	select {}
}

// Also after SIGKILL no server, open port or directory of the starter is left.
func TestNothingOutlivesAStarterThatIsKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	starter := exec.Command(self)
	starter.Env = append(os.Environ(), starterVariable+"=1", "TMPDIR="+t.TempDir())
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	var pids [4]int
	var addrs [3]string
	var dir string
	for i := range addrs {
		if _, err := fmt.Fscanln(out, &pids[i], &addrs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Fscan(out, &pids[len(addrs)], &dir); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if !listens(addr) {
			t.Fatalf("no server listens at %s: nothing is tested", addr)
		}
	}
	_ = starter.Process.Kill()
	_, _ = io.Copy(io.Discard, out)
	_ = starter.Wait()
	for _, addr := range addrs {
		testenv.Eventually(t, "port "+addr+" is closed", func() bool { return !listens(addr) })
	}
	for _, pid := range pids {
		testenv.Eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() bool { return !alive(pid) })
	}
	testenv.Eventually(t, "directory "+dir+" is gone", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
}

// A stack that is closed during faults leaves nothing behind.
func TestCloseLeavesNothing(t *testing.T) {
	s, err := servers.New()
	if err != nil {
		t.Fatal(err)
	}
	ctx := testenv.Context(t)
	nodes, err := s.RedLock(ctx, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	proxied, err := s.ProxiedTopology(ctx, "single", false)
	if err != nil {
		t.Fatal(err)
	}
	nodes = append(nodes, proxied.Nodes...)
	nodes[0].Kill()
	testenv.Pause(t, nodes[1]) // it must be stopped all the same
	nodes[2].Proxy.Drop(faultproxy.Both)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if listens(node.Addr) || listens(node.AnnouncedAddr()) || alive(pid(node)) {
			t.Errorf("%s at %s is still there", node.Name, node.Addr)
		}
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", s.Dir(), err)
	}
}

func TestServerThatDoesNotStartSaysWhy(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	_, err := testenv.Stack(t).Redis(testenv.Context(t), "redis", true, "--nonsense", "yes")
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Fatalf("got %v, want what the server said", err)
	}
}

// A program that is missing is named, with how to get it.
func TestProgramThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s, ctx := testenv.Stack(t), testenv.Context(t)
	for words, start := range map[string]func() error{
		"redis-server": func() error { _, err := s.Redis(ctx, "redis", true); return err },
		"mariadbd apt-get install mariadb-server": func() error { _, err := s.MariaDB(ctx); return err },
		"memcached apt-get install memcached":     func() error { _, err := s.Memcached(ctx); return err },
		"java apt-get install zookeeper":          func() error { _, err := s.ZooKeeper(ctx, 1); return err },
		"etcd apt-get install etcd-server":        func() error { _, err := s.Etcd(ctx, 1); return err },
	} {
		program, how, _ := strings.Cut(words, " ")
		if err := start(); err == nil || !strings.Contains(err.Error(), program) || !strings.Contains(err.Error(), how) {
			t.Errorf("got %v, want %s", err, words)
		}
	}
}

func listens(addr string) bool {
	connection, err := net.Dial("tcp", addr)
	if err == nil {
		connection.Close()
	}
	return err == nil
}

// pid is the process id of a node that runs in no container.
func pid(n *servers.Node) int { return n.Server.(*servers.Process).PID() }

// alive reports whether a process runs. One that ended and was not waited for, because its parent
// is gone and the machine's first process is slow, does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(state, "Z")
}

// A program that forgets Reexec starts itself as its reaper, and that one again, without an end.
func TestProgramWithoutReexecIsRefused(t *testing.T) {
	t.Setenv("LOCKLAB_STACK_ROLE", "reaper")
	if s, err := servers.New(); err == nil || !strings.Contains(err.Error(), "servers.Reexec") {
		_ = s.Close()
		t.Errorf("got %v, want an error that names servers.Reexec", err)
	}
}

// An instance that was killed starts again at its address, because a balancer keeps that. One that would be elsewhere is refused.
func TestAnInstanceIsRestarted(t *testing.T) {
	ctx, s := testenv.Context(t), testenv.Stack(t)
	const says = `echo "{\"url\":\"http://127.0.0.1:${0#--listen=}\",\"instance\":\"one\"}"; exec sleep 600`
	i, err := s.Instance(ctx, "one", "sh", "-c", says, "--listen=1")
	if err != nil {
		t.Fatal(err)
	}
	before := i.PID()
	proof, err := i.Restart(ctx)
	if err != nil || i.PID() == before || alive(before) || !alive(i.PID()) || i.URL != "http://127.0.0.1:1" {
		t.Errorf("%q, %v: process %d after %d, at %s", proof, err, i.PID(), before, i.URL)
	}
	elsewhere, err := s.Instance(ctx, "two", "sh", "-c", says, "--listen=1")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere.URL = "http://127.0.0.1:2"
	if _, err := elsewhere.Restart(ctx); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:2") {
		t.Errorf("it listens elsewhere, and the error is %v", err)
	}
	const once = `[ -e "$2" ] && exit 1; touch "$2"; echo "{\"url\":\"http://127.0.0.1:1\"}"; exec sleep 600`
	broken, err := s.Instance(ctx, "three", "sh", "-c", once, "sh", "--listen=1", filepath.Join(t.TempDir(), "began"))
	if err != nil {
		t.Fatal(err)
	}
	if proof, err := broken.Restart(ctx); err == nil {
		t.Errorf("it does not start again, and the proof is %q", proof)
	}
}

// A program that is older than the lab needs is refused with both versions. One whose version nobody knows is not.
func TestAProgramThatIsTooOld(t *testing.T) {
	for version, old := range map[string]bool{"6.0.16": true, "6.2.0": false, "7.0.15": false, "none": false} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "served"), []byte("#!/bin/sh\necho served v="+version+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		p := servers.Program{Name: "served", Oldest: "6.2"}
		if err := p.Missing(); (err != nil) != old || old && !strings.Contains(err.Error(), "is 6.0.16, and the lab needs 6.2 or newer") {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// A result names the server that it is about.
func TestKindsAreNamedWithTheirVersions(t *testing.T) {
	for kind, program := range map[string]testenv.Need{
		"redis": testenv.RedisServer, "redlock": testenv.RedisServer, "database": testenv.MariaDB, "zookeeper": testenv.ZooKeeper,
		"etcd": testenv.Etcd, "memcached": testenv.Memcached,
	} {
		t.Run(kind, func(t *testing.T) {
			testenv.Needs(t, program)
			if got := servers.ServerName(kind, true); !regexp.MustCompile(`^[a-z-]+ \d+\.\d+\.\d+$`).MatchString(got) {
				t.Errorf("it is called %q", got)
			}
		})
	}
	if got := servers.ServerName("redis", false); got != "miniredis" {
		t.Errorf("the embedded Redis is called %q", got)
	}
}

// Where a program is missing, the kinds that Go can replace are there, and the others are not.
func TestKindsWithoutTheirPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for kind, there := range map[string]bool{"redis": true, "redlock": true, "database": true, "memcached": false, "none": true} {
		if err := servers.Missing(kind); (err == nil) != there {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for kind, want := range map[string]string{"redis": "redis-server", "database": "SQLite", "etcd": "etcd", "memcached": "memcached"} {
		if got := servers.ServerName(kind, true); got != want {
			t.Errorf("%s is called %q, want %q without a version", kind, got, want)
		}
	}
	s, ctx := testenv.Stack(t), testenv.Context(t)
	servers, err := s.Start(ctx, "database", 1, true)
	if err != nil || len(servers.Each) != 0 || len(servers.Addrs) != 1 || !strings.HasPrefix(servers.Addrs[0], "sqlite:") {
		t.Errorf("%+v, %v; want a file of SQLite", servers, err)
	}
	if _, err := s.Start(ctx, "none", 1, true); err == nil {
		t.Error("a kind that is none starts")
	}
}

// The name of the temporary folder may have spaces, which separate the words in a file of settings.
func TestAFolderWithSpaces(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "two words 'and' more")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folder)
	testenv.Needs(t, testenv.Nginx)
	testenv.Topology(t, "sentinel")
	nginx, err := testenv.Stack(t).Nginx(testenv.Context(t), []*servers.Instance{{URL: "http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(nginx.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if passed, err := nginx.End(); err != nil || len(passed) != 1 {
		t.Errorf("nginx has logged %+v, %v", passed, err)
	}
}
