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
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EtcdServer is the program of etcd.
var EtcdServer = Program{Name: "etcd", Debian: "etcd-server", Homebrew: "etcd"}

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

// Etcd starts a cluster of n servers, 1 or 3, and waits until every one serves. Settings are more of etcd's flags ("--name", "value",
// …). A failover takes a second or two. The shortest lease that a server grants is one second.
func (s *Stack) Etcd(ctx context.Context, n int, settings ...string) (*Etcd, error) {
	if n != 1 && n != 3 {
		return nil, fmt.Errorf("%d etcd servers: a cluster has 1 or 3", n)
	}
	return s.etcdCluster(ctx, n, false, settings)
}

// ProxiedEtcd starts a cluster of three servers that reach each other over a [Proxy] before each. So one of them can be cut off: see
// [Etcd.Isolate]. Clients pass no proxy.
func (s *Stack) ProxiedEtcd(ctx context.Context) (*Etcd, error) {
	return s.etcdCluster(ctx, 3, true, nil)
}

func (s *Stack) etcdCluster(ctx context.Context, n int, proxied bool, settings []string) (e *Etcd, err error) {
	if err := EtcdServer.Missing(); err != nil {
		return nil, err
	}
	err = whileTaken(func() error {
		e, err = s.etcd(ctx, n, proxied, settings)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return e, nil
}

// etcd starts a cluster at free addresses.
func (s *Stack) etcd(ctx context.Context, n int, proxied bool, settings []string) (*Etcd, error) {
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
			argv := slices.Concat([]string{"etcd"}, m.flags(token, strings.Join(cluster, ",")), settings)
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
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", m.Name, answer.Status)
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
