package main

import (
	"regexp"

	"locklab/tools/machine"
)

// prefix begins the name of the folder of a run.
const prefix = "locklab-swarm-"

// kernelSettings are settings of the whole kernel that Docker writes. They belong to no namespace.
var kernelSettings = []string{"/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes"}

// kinds are what two engines could leave.
var kinds = []machine.Kind{
	{Name: "processes of the engines", Command: "ps -eo args", Pattern: regexp.MustCompile(`(?m)^(.*` + prefix + `.*)$`)},
	{Name: "mounts of the engines", Command: "cat /proc/mounts", Pattern: regexp.MustCompile(`(?m)^(.*` + prefix + `.*)$`)},
	{
		Name: "network interfaces", Command: "ip -o link",
		Pattern: regexp.MustCompile(`(?m)^\d+: ([^:@]*(?:engine|vxlan|docker_gwbridge)[^:@]*)`),
	},
	{Name: "network namespaces", Command: "ip netns list", Pattern: regexp.MustCompile(`(?m)^(\S+)`)},
	{Name: "iptables chains of Swarm", Command: "iptables-save", Pattern: regexp.MustCompile(`(?m)^:(DOCKER-INGRESS\S*)`)},
	{
		Name: "tasks in this machine's Docker", Command: "docker ps --all --format '{{.Names}}'",
		Pattern: regexp.MustCompile(`(?m)^(lab_\S+)`),
	},
	{
		Name: "networks of this machine's Docker", Command: "docker network ls --format '{{.Name}}'",
		Pattern: regexp.MustCompile(`(?m)^(lab_\S+|docker_gwbridge|ingress)$`),
	},
	{
		Name: "a Swarm of this machine's Docker", Command: "docker info --format '{{.Swarm.LocalNodeState}}'",
		Pattern: regexp.MustCompile(`(?m)^(active|pending|error|locked)$`),
	},
	{Name: "control groups", Command: machine.Existing("/sys/fs/cgroup/*/locklab-swarm"), Own: true, Pattern: regexp.MustCompile(`(.+)`)},
}
