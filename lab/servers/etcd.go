package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Etcd is a cluster of etcd servers: one, or three that elect a leader.
type Etcd struct {
	Members []*Member
}

// Member is one server of an [Etcd]. Unlike the Redis nodes of a stack it keeps its data: what it has written is there after a restart.
type Member struct {
	Restartable        // its name is also that in the cluster
	Proxy       *Proxy // before it, for the other members; nil: none

	peer string // host:port, for the other members
	data string // its directory
}

func startEtcd(ctx context.Context, s *Stack, n int, _ bool) (Servers, error) {
	e, err := s.Etcd(ctx, n)
	if err != nil {
		return Servers{}, err
	}
	return serversOf(e.Members...), nil
}

// Etcd starts a cluster of n servers, 1 or 3, and waits until every one serves. The program is etcd of the PATH, or one that is built on
// first use: see [EtcdProgram]. Settings are more of its flags ("--name", "value", …). A failover takes a second or two. The shortest lease
// that a server grants is one second.
func (s *Stack) Etcd(ctx context.Context, n int, settings ...string) (*Etcd, error) {
	if n != 1 && n != 3 {
		return nil, fmt.Errorf("stack: %d etcd servers: a cluster has 1 or 3", n)
	}
	return s.etcdCluster(ctx, n, false, settings)
}

// ProxiedEtcd starts a cluster of three servers that reach each other over a [Proxy] before each. So one of them can be cut off: see
// [Etcd.Isolate]. Clients pass no proxy.
func (s *Stack) ProxiedEtcd(ctx context.Context) (*Etcd, error) {
	return s.etcdCluster(ctx, 3, true, nil)
}

func (s *Stack) etcdCluster(ctx context.Context, n int, proxied bool, settings []string) (*Etcd, error) {
	program, err := EtcdProgram(ctx)
	if err != nil {
		return nil, err
	}
	var e *Etcd
	err = whileTaken(func() (err error) {
		e, err = s.etcd(ctx, program, n, proxied, settings)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stack: etcd: %w", err)
	}
	return e, nil
}

// etcd starts a cluster at free addresses.
func (s *Stack) etcd(ctx context.Context, program []string, n int, proxied bool, settings []string) (*Etcd, error) {
	addrs, err := s.FreeAddrs(2 * n)
	if err != nil {
		return nil, err
	}
	e, token, cluster := new(Etcd), filepath.Base(s.dir), make([]string, n)
	for i := range n {
		m := &Member{Restartable: Restartable{Name: fmt.Sprintf("etcd-%d", i+1), Addr: addrs[2*i]}, peer: addrs[2*i+1]}
		if proxied {
			if m.Proxy, err = s.Proxy("proxy of "+m.Name, m.peer); err != nil {
				return nil, err
			}
		}
		m.data = filepath.Join(s.dir, fmt.Sprint(m.Name, "-", portOf(m.Addr)))
		m.ready, m.start = m.answers, func() (*Process, error) {
			argv := slices.Concat(program, m.flags(token, strings.Join(cluster, ",")), settings)
			return s.start(command{name: m.Name, argv: argv})
		}
		e.Members, cluster[i] = append(e.Members, m), m.Name+"=http://"+m.announced()
	}
	return e, startAll(ctx, e.Members, nil)
}

// announced is the address that the other members are told.
func (m *Member) announced() string {
	if m.Proxy != nil {
		return m.Proxy.Addr
	}
	return m.peer
}

// flags are those of etcd 3.4 and later. An election begins half a second after the last message of the leader.
func (m *Member) flags(token, cluster string) []string {
	return []string{
		"--name", m.Name, "--data-dir", m.data, "--initial-cluster-token", token, "--initial-cluster", cluster,
		"--listen-client-urls", "http://" + m.Addr, "--advertise-client-urls", "http://" + m.Addr,
		"--listen-peer-urls", "http://" + m.peer, "--initial-advertise-peer-urls", "http://" + m.announced(),
		"--heartbeat-interval", "50", "--election-timeout", "500",
		"--logger", "zap", "--log-level", "warn",
	}
}

// Addrs are the addresses for clients: host:port.
func (e *Etcd) Addrs() []string { return Addrs(e.Members) }

// Leader returns the member that leads and serves. While there is none it waits, until ctx ends.
func (e *Etcd) Leader(ctx context.Context) (*Member, error) { return awaitLeader(ctx, e.Members) }

// LoseDisk kills a member and deletes its data. One of several cannot join again: the others know that it was a member.
func (m *Member) LoseDisk() error {
	m.Kill()
	return os.RemoveAll(m.data)
}

// answers returns nil when the member serves. Another server may have taken the port, and answers as well.
func (m *Member) answers(ctx context.Context) (says string, err error) {
	var cluster struct{ Members []struct{ PeerURLs []string } }
	if err := m.ask(ctx, "cluster/member/list", struct{}{}, &cluster); err != nil {
		return "", err
	}
	for _, member := range cluster.Members {
		if slices.Contains(member.PeerURLs, "http://"+m.announced()) {
			return "", m.reads(ctx)
		}
	}
	return "", fmt.Errorf("another server answers at %s", m.Addr)
}

// reads returns nil when a linearizable read succeeds: the member knows a leader that a majority follows.
func (m *Member) reads(ctx context.Context) error {
	return m.ask(ctx, "kv/range", map[string]any{"key": "YQ==", "count_only": true}, &struct{}{})
}

// leads reports whether the member leads and serves.
func (m *Member) leads(ctx context.Context) (bool, error) {
	status, err := m.status(ctx)
	if err != nil || status.Leader != status.Header.MemberID {
		return false, err
	}
	return true, m.reads(ctx)
}

// memberStatus has ids as decimal numbers.
type memberStatus struct {
	Leader string
	Header struct {
		MemberID string `json:"member_id"`
	}
}

func (m *Member) status(ctx context.Context) (status memberStatus, err error) {
	return status, m.ask(ctx, "maintenance/status", struct{}{}, &status)
}

// ask sends a request to the member's gateway for JSON.
func (m *Member) ask(ctx context.Context, path string, request, reply any) error {
	select {
	case <-m.Done():
		return fmt.Errorf("stack: %s has ended: %s", m.Name, m.Server.(*Process).LastLine())
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second) // a member that is paused does not answer
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.Addr+"/v3/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Close = true // no connection stays
	answer, err := http.DefaultClient.Do(post)
	if err != nil {
		return fmt.Errorf("stack: %s: %w", m.Name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("stack: %s answers %s", m.Name, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(reply)
}

var receivedByEtcd = regexp.MustCompile(`(?m)^grpc_server_msg_received_total\{.*\} (\S+)$`)

// messagesOfEtcd sums up the messages from clients that the server at an address has received: requests, and messages on streams that stay.
func messagesOfEtcd(ctx context.Context, addr string) (n int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	request.Close = true // no connection stays
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	for _, m := range receivedByEtcd.FindAllSubmatch(text, -1) {
		count, failed := strconv.ParseFloat(string(m[1]), 64)
		n, err = n+int64(count), errors.Join(err, failed)
	}
	return n, err
}

// etcdVersion is that of lab/servers/etcdserver/go.mod.
const etcdVersion = "v3.7.3"

// EtcdServer is etcd of the PATH, or what is needed to build one.
var EtcdServer = Program{Name: "etcd", Debian: "etcd-server", Homebrew: "etcd", find: func() error {
	_, _, err := etcdProgram()
	return err
}, version: func() string {
	argv, _, err := etcdProgram()
	if err == nil && argv[0] != "etcd" { // one that is built
		return strings.TrimPrefix(etcdVersion, "v")
	}
	return Program{Name: "etcd"}.Version()
}}

// EtcdProgram returns the command that runs an etcd server: etcd of the PATH, or the module lab/servers/etcdserver. The module is built on
// first use, which takes some minutes, and is kept in the user's cache directory.
func EtcdProgram(ctx context.Context) (argv []string, err error) {
	if err := EtcdServer.Missing(); err != nil {
		return nil, err
	}
	argv, source, err := etcdProgram()
	if err == nil && source != "" {
		err = buildEtcd(ctx, source, argv[0])
	}
	return argv, err
}

// PrepareEtcd builds that program where there is none. It calls tell before, because that takes minutes.
func PrepareEtcd(ctx context.Context, tell func()) error {
	_, source, err := etcdProgram()
	if err == nil && source != "" {
		tell()
		_, err = EtcdProgram(ctx)
	}
	return err
}

// EtcdIsThere reports whether an etcd can start without a build, which takes minutes.
func EtcdIsThere() bool {
	_, source, err := etcdProgram()
	return err == nil && source == ""
}

// etcdProgram finds the command. source is where it is built first; empty: it is there.
func etcdProgram() (argv []string, source string, err error) {
	if _, err := exec.LookPath("etcd"); err == nil {
		return []string{"etcd"}, "", nil
	}
	const none = "etcd is missing, and %s to build one with"
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, "", fmt.Errorf(none+": %w", "there is no directory", err)
	}
	argv = []string{filepath.Join(cache, "locklab", "etcd-"+etcdVersion), unsafeNoFsync}
	if _, err := os.Stat(argv[0]); err == nil {
		return argv, "", nil
	}
	_, file, _, _ := runtime.Caller(0)
	source = filepath.Join(filepath.Dir(file), "etcdserver")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return nil, "", fmt.Errorf(none, "there is no checkout of this program")
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, "", fmt.Errorf(none, "there is no go")
	}
	return argv, source, nil
}

// unsafeNoFsync is a flag of etcd since 3.5: a server that is killed has written nevertheless, and only a machine that stops loses data.
const unsafeNoFsync = "--unsafe-no-fsync"

// buildEtcd builds beside the program's place, because several processes may do so at the same time.
func buildEtcd(ctx context.Context, source, program string) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	unfinished := fmt.Sprintf("%s.%d", program, os.Getpid())
	build := exec.CommandContext(ctx, "go", "build", "-o", unfinished, ".")
	build.Cancel = func() error { return build.Process.Signal(os.Interrupt) } // it ends its compilers, and removes what they wrote
	build.WaitDelay = 10 * time.Second
	build.Dir, build.Env = source, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("stack: there is no etcd on the PATH, and go cannot build one: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(unfinished, program)
}
