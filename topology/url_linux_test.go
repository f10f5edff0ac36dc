package topology_test

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
)

// encrypted are servers of Redis with TLS. Their certificate is for "redis.test", and for no IP address; this process trusts it. The users
// of their ACL are alice and watcher.
type encrypted struct {
	node, other, cluster  *servers.Node // for the test, without TLS
	single, replica       string        // ports of TLS
	sentinel, clusterPort string

	addrMap topology.AddrMap
}

const aliceByIP = "rediss://alice:p%2Fw%231@127.0.0.1:"

// A password has characters that a URL must escape.
const password, alice, sentinels = "p/w#1", "rediss://alice:p%2Fw%231@redis.test:", "rediss://watcher:hush@redis.test:"

// What docs/cli.md says that users need.
const (
	rights = "~* &* +@read +@write +@scripting +@pubsub +@transaction +time +ping +select +role +readonly +command " +
		"+cluster|slots +cluster|myid"
	sentinelRights = "&* +ping +subscribe +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas"
)

func startEncrypted(t *testing.T) (e encrypted) {
	testenv.Needs(t, testenv.RedisServer)
	cert, key := testenv.Certificate(t)
	s, ctx := testenv.Stack(t), testenv.Context(t)
	start := func(name string, settings ...string) (*servers.Node, string) {
		t.Helper()
		port := portOf(testenv.FreeAddr(t))
		node, err := s.Redis(ctx, name, true, slices.Concat(settings, []string{
			"--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no",
		})...)
		if err != nil {
			t.Fatal(err)
		}
		return node, port
	}
	user := slices.Concat([]string{"--user", "alice", "on", ">" + password}, strings.Fields(rights))
	e.node, e.single = start("master", user...)
	e.other, e.replica = start("replica", append(user, "--replicaof", "127.0.0.1 "+portOf(e.node.Addr))...)
	watcher, sentinelPort := start("sentinel", slices.Concat([]string{"--user", "watcher", "on", ">hush"}, strings.Fields(sentinelRights),
		[]string{"--sentinel", "monitor", "lab", "127.0.0.1", portOf(e.node.Addr), "1"})...)
	e.sentinel = sentinelPort
	e.cluster, e.clusterPort = start("cluster", append(user, "--cluster-enabled", "yes", "--tls-cluster", "yes",
		"--cluster-announce-ip", "127.0.0.1")...)
	err := errors.Join(
		e.cluster.WithClient(func(c *redis.Client) error { return c.ClusterAddSlotsRange(ctx, 0, 16383).Err() }),
		watcher.WithClient(func(c *redis.Client) error { return c.Do(ctx, "ACL", "SETUSER", "default", "off").Err() }),
	)
	if err != nil {
		t.Fatal(err)
	}
	e.addrMap, err = topology.ParseAddrMap([]string{"redis.test=127.0.0.1", "other.test=127.0.0.1", e.node.Addr + "=127.0.0.1:" + e.single})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func portOf(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

// URLs reach the servers of each topology with TLS, as a user of their ACL, also where sentinels and clusters announce IP addresses. URLs
// that do not fit say why, and no password.
func TestURLs(t *testing.T) {
	e := startEncrypted(t)
	for name, cfg := range map[string]topology.Config{
		"single":      {Kind: topology.Single, Addrs: []string{alice + e.single}},
		"a database":  {Kind: topology.Single, Addrs: []string{alice + e.single + "/3"}},
		"any name":    {Kind: topology.Single, Addrs: []string{aliceByIP + e.single + "?skip_verify=true"}},
		"master":      {Kind: topology.MasterSlave, Addrs: []string{alice + e.replica, alice + e.single}},
		"the default": {Kind: topology.MasterSlave, Addrs: []string{"rediss://redis.test:" + e.single, "rediss://redis.test:" + e.replica}},
		"sentinel":    {Kind: topology.Sentinel, Addrs: []string{sentinels + e.sentinel}},
		"cluster":     {Kind: topology.Cluster, Addrs: []string{alice + e.clusterPort}},
	} {
		t.Run(name, func(t *testing.T) {
			if cfg.SentinelMaster, cfg.Map = "lab", e.addrMap; name == "sentinel" || name == "the default" {
				cfg.User, cfg.Password = "alice", password
			}
			testEncrypted(t, e, cfg)
		})
	}
	if _, err := e.node.Info(t.Context(), "keyspace", "db3"); err != nil {
		t.Errorf("the database of the URL is empty: %v", err)
	}
	nodes := []string{alice + e.single, strings.Replace(alice, "rediss", "redis", 1) + portOf(e.cluster.Addr)} // independent ones may differ
	independent, err := topology.OpenIndependent(testenv.Context(t), nodes, topology.Access{Map: e.addrMap})
	if err != nil {
		t.Fatal(err)
	}
	defer independent.Close()
	err = errors.Join(
		e.cluster.Configure(t.Context(), "cluster-preferred-endpoint-type", "hostname"),
		e.cluster.Configure(t.Context(), "cluster-announce-hostname", "other.test"),
		e.other.Configure(t.Context(), "tls-auth-clients", "yes"),
		e.node.Configure(t.Context(), "requirepass", "another"),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ url, kind, says string }{
		"another name":       {aliceByIP + e.single, "single", "the certificate is not accepted"},
		"an announced name":  {alice + e.clusterPort, "cluster", "redis.test, not other.test"},
		"no TLS":             {strings.Replace(alice, "rediss", "redis", 1) + e.single, "single", "a server that wants TLS ends the connection"},
		"TLS where none is":  {alice + portOf(e.cluster.Addr), "single", "a server without TLS gives no answer"},
		"password":           {strings.Replace(alice, "alice", "bob", 1) + e.single, "single", "the password is wrong or missing: WRONGPASS"},
		"of the sentinels":   {strings.Replace(sentinels, "watcher", "bob", 1) + e.sentinel, "sentinel", "the password of the sentinels"},
		"no certificate":     {alice + e.replica, "single", "give it tls-auth-clients no"},
		"no user":            {strings.Replace(sentinels, "watcher", "", 1) + e.sentinel, "sentinel", "the password of the sentinels"},
		"none for sentinels": {"rediss://redis.test:" + e.sentinel, "sentinel", "the password of the sentinels"},
		"of the master":      {sentinels + e.sentinel, "sentinel", "that of the master: set --redis-password"},
		"another master":     {sentinels + e.sentinel, "sentinel", `know no master called "other": set --sentinel-master`},
		"no sentinel":        {alice + e.single, "sentinel", "are no sentinels"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most retry until the end
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			master := map[bool]string{true: "other", false: "lab"}[name == "another master"]
			_, err := topology.Open(ctx, topology.Config{
				Kind: topology.Kind(c.kind), Addrs: []string{c.url}, SentinelMaster: master, Access: topology.Access{Map: e.addrMap},
			})
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "@#%") {
				t.Errorf("got %v, want %s", err, c.says)
			}
			if certificate := new(tls.CertificateVerificationError); errors.As(err, &certificate) && replies.MayHaveRun(err) {
				t.Errorf("%v: a command may have been executed", err)
			}
		})
	}
}

// testEncrypted checks that a client keeps its connections, and sends nothing to a server that has closed one.
func testEncrypted(t *testing.T, e encrypted, cfg topology.Config) {
	r, ctx := open(t, cfg), testenv.Context(t)
	if text := r.String(); strings.ContainsAny(text, "/@?") {
		t.Errorf("it is called %s", text)
	}
	send := func() {
		t.Helper()
		if err := r.Master.Incr(ctx, "key").Err(); err != nil && !redis.IsReadOnlyError(err) {
			t.Error(err)
		}
	}
	send()
	before := r.Master.PoolStats().Misses
	for range 20 {
		send()
	}
	if dialled := r.Master.PoolStats().Misses - before; dialled != 0 {
		t.Errorf("20 commands one after another opened %d connections", dialled)
	}
	killed := int64(0)
	for _, node := range []*servers.Node{e.node, e.cluster} {
		err := node.WithClient(func(c *redis.Client) error {
			n, err := c.ClientKillByFilter(ctx, "USER", "alice").Result()
			killed += n
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if killed == 0 {
		t.Error("no connection is one of the user alice")
	}
	send()
}
