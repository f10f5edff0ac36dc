package deploy_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// In a cluster on Kubernetes no replica is left on the node of its master, wherever the scheduler has put the replicas. On one node nothing
// is moved. Each server announces its node as its hostname.
func TestReplicasAreApartFromTheirMasters(t *testing.T) {
	t.Parallel()
	top := testenv.Topology(t, "cluster")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sleep"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var addrs []string
	for _, node := range top.Nodes {
		addrs = append(addrs, node.Addr)
	}
	script := func(file string, addrs []string) (said string, err error) {
		cmd := exec.CommandContext(t.Context(), "sh", file)
		cmd.Env = append(os.Environ(), "NODES="+strings.Join(addrs, " "), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, nodes := range []string{"abcabc", "abcacb", "abcbac", "abcbca", "abccab", "abccba", "aaaaaa"} {
		for i, node := range top.Nodes {
			asked(t, node, "config", "set", "cluster-announce-hostname", "node-fail-"+nodes[i:i+1])
		}
		before := pairs(t, top)
		out, err := script("kubernetes/pods/apart.sh", addrs)
		if err != nil {
			t.Fatalf("%s: %v: %s", nodes, err, out)
		}
		after := pairs(t, top)
		if one := nodes == "aaaaaa"; one && fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("on one node %v became %v: %s", before, after, out)
		} else if !one && together(after) > 0 || len(after) != 3 {
			t.Errorf("on %s a replica is with its master: %v, and before %v: %s", nodes, after, before, out)
		}
	}
	testenv.Eventually(t, "the topology is ready, although the name of a node has the word fail", func() bool {
		_, err := script("redis-topologies/cluster-ready.sh", addrs)
		return err == nil
	})
	if out, err := script("kubernetes/pods/apart.sh", append([]string{"127.0.0.1:1"}, addrs[1:]...)); err == nil {
		t.Errorf("a node gives no answer, and the script does not fail, so nobody tries again: %s", out)
	}
}

// pairs are the nodes of Kubernetes of each master and its replica.
func pairs(t *testing.T, top *servers.Topology) map[string]string {
	t.Helper()
	on, of := map[string]string{}, map[string]string{}
	for _, node := range top.Nodes {
		for line := range strings.Lines(asked(t, node, "cluster", "nodes")) {
			words := strings.Fields(line)
			if len(words) < 4 || !strings.Contains(words[2], "myself") {
				continue
			}
			_, host, _ := strings.Cut(words[1], ",")
			on[words[0]] = host
			if strings.Contains(words[2], "slave") {
				of[words[3]] = host
			}
		}
	}
	all := map[string]string{}
	for master, replica := range of {
		all[master+" on "+on[master]] = replica
	}
	return all
}

func together(pairs map[string]string) (n int) {
	for master, replica := range pairs {
		if strings.HasSuffix(master, " on "+replica) {
			n++
		}
	}
	return n
}

// asked is the answer of a server to a command.
func asked(t *testing.T, node *servers.Node, command ...string) string {
	t.Helper()
	host, port, _ := net.SplitHostPort(node.Addr)
	cmd := exec.CommandContext(t.Context(), "redis-cli", append([]string{"-e", "-h", host, "-p", port}, command...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
	return string(out)
}
