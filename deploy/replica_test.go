//go:build unix

package deploy_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// A replica that starts again follows the master that a sentinel names, and no other one. A promoted replica follows nobody: its first
// master follows it. Without a sentinel that answers, it follows the first master.
func TestAReplicaFollowsTheMasterOfTheSentinels(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	top, err := testenv.Stack(t).Topology(testenv.Context(t), "sentinel", true)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script, err := os.ReadFile("redis-topologies/replica.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"replica.sh": string(script), "node.sh": `echo "$@"`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	master, replica := top.Nodes[0].Addr, top.Nodes[1].Addr
	const first, nobody = "127.0.0.9:6401", "127.0.0.1:1"
	for _, c := range []struct {
		what, topology, own string
		sentinels           []string
		follows             string
	}{
		{"a replica", "sentinel", replica, []string{nobody, top.Sentinels[1].Addr}, master},
		{"a promoted replica", "sentinel", master, []string{top.Sentinels[0].Addr, top.Sentinels[1].Addr}, ""},
		{"the first start", "sentinel", replica, []string{nobody}, first},
		{"without sentinels", "master-slave", replica, []string{top.Sentinels[0].Addr}, first},
	} {
		_, port, _ := net.SplitHostPort(c.own)
		argv := append([]string{filepath.Join(dir, "replica.sh")}, strings.Split(first, ":")...)
		cmd := exec.CommandContext(t.Context(), "sh", append(argv, c.sentinels...)...)
		cmd.Env = append(os.Environ(), "TOPOLOGY="+c.topology, "OWN=127.0.0.1", "PORT="+port, "REDISCLI_AUTH=that of the nodes")
		out, err := cmd.CombinedOutput()
		want := ""
		if c.follows != "" {
			want = "--replicaof " + strings.Replace(c.follows, ":", " ", 1)
		}
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s starts with %q, %v; want %q", c.what, got, err, want)
		}
	}
}
