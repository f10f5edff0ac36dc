package main

import (
	"regexp"

	"locklab/tools/machine"
)

// kubeletSettings are the settings of the whole kernel that a kubelet writes. They belong to no namespace.
var kubeletSettings = []string{
	"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops",
	"/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes",
}

// kinds are what a cluster could leave.
var kinds = []machine.Kind{
	{
		Name: "processes of the cluster", Command: "ps -eo args",
		Pattern: regexp.MustCompile(`(?m)^(.*(?:locklab-kubernetes-|kube-[a-z-]+ --|kubelet --).*)$`),
	},
	{Name: "mounts of the cluster", Command: "cat /proc/mounts", Pattern: regexp.MustCompile(`(?m)^(.*locklab-kubernetes-.*)$`)},
	{
		Name: "network interfaces", Command: "ip -o link",
		Pattern: regexp.MustCompile(`(?m)^\d+: ([^:@]*(?:nodes|node[0-9]|pods)[^:@]*)`),
	},
	{Name: "network namespaces", Command: "ip netns list", Pattern: regexp.MustCompile(`(?m)^(\S+)`)},
	{Name: "iptables chains of Kubernetes", Command: "iptables-save", Pattern: regexp.MustCompile(`(?m)^:((?:KUBE|CNI)\S*)`)},
	{
		Name: "folders of a kubelet", Command: machine.Existing("/var/lib/kubelet /var/lib/cni /var/log/pods /usr/libexec/kubernetes"),
		Pattern: regexp.MustCompile(`(.+)`),
	},
	{
		Name: "control groups", Command: machine.Existing("/sys/fs/cgroup/*/locklab-kubernetes"), Own: true,
		Pattern: regexp.MustCompile(`(.+)`),
	},
}
