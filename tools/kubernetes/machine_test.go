package main

import (
	"strings"
	"testing"
)

// Of what the commands list, only what belongs to a cluster is taken.
func TestOnlyTheClusterIsFound(t *testing.T) {
	cases := map[string]struct{ listed, want string }{
		"processes of the cluster": {
			"COMMAND\nps -eo args\n/b/kubelet --config=a\n/b/kube-proxy --v=1\ncontainerd --config /tmp/locklab-kubernetes-1/c\ndockerd\n",
			"/b/kubelet --config=a,/b/kube-proxy --v=1,containerd --config /tmp/locklab-kubernetes-1/c",
		},
		"mounts of the cluster": {"proc /proc proc rw\nnone /tmp/locklab-kubernetes-1/a tmpfs rw\n", "none /tmp/locklab-kubernetes-1/a tmpfs rw"},
		"network interfaces": {
			"1: lo: <LOOPBACK> mtu 65536\n2: eth0@if3: <UP> mtu 1500\n7: nodes: <UP> mtu 1500\n8: node1@if2: <UP> mtu 1500\n", "nodes,node1",
		},
		"network namespaces": {"node2 (id: 1)\nnode1 (id: 0)\n", "node2,node1"},
		"iptables chains of Kubernetes": {
			"*nat\n:INPUT ACCEPT [0:0]\n:KUBE-MARK-MASQ - [0:0]\n-A POSTROUTING -j KUBE-X\nCOMMIT\n", "KUBE-MARK-MASQ",
		},
		"folders of a kubelet": {"/var/lib/kubelet\n/var/lib/cni\n", "/var/lib/kubelet,/var/lib/cni"},
		"control groups":       {"/sys/fs/cgroup/pids/locklab-kubernetes\n", "/sys/fs/cgroup/pids/locklab-kubernetes"},
	}
	for _, kind := range kinds {
		c := cases[kind.Name]
		got := kind.Found(c.listed)
		if c.want == "" || strings.Join(got, ",") != c.want {
			t.Errorf("%s: found %q, want %q", kind.Name, got, c.want)
		}
	}
}
