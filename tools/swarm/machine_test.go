package main

import (
	"strings"
	"testing"
)

// Of what the commands list, only what belongs to the engines is taken.
func TestOnlyTheEnginesAreFound(t *testing.T) {
	cases := map[string]struct{ listed, want string }{
		"processes of the engines": {
			"COMMAND\ndockerd\ndockerd --host=unix:///tmp/locklab-swarm-1/single/swarm/engine1/docker.sock\ncontainerd --config /var/run/c\n",
			"dockerd --host=unix:///tmp/locklab-swarm-1/single/swarm/engine1/docker.sock",
		},
		"mounts of the engines": {"proc /proc proc rw\noverlay /tmp/locklab-swarm-1/a overlay rw\n", "overlay /tmp/locklab-swarm-1/a overlay rw"},
		"network interfaces": {
			"1: lo: <LOOPBACK> mtu 65536\n2: docker0: <UP> mtu 1500\n7: engines: <UP> mtu 1500\n8: engine1@if2: <UP> mtu 1500\n", "engines,engine1",
		},
		"network namespaces":                {"engine2 (id: 1)\nengine1 (id: 0)\n", "engine2,engine1"},
		"iptables chains of Swarm":          {"*nat\n:INPUT ACCEPT [0:0]\n:DOCKER-INGRESS - [0:0]\n:DOCKER - [0:0]\nCOMMIT\n", "DOCKER-INGRESS"},
		"tasks in this machine's Docker":    {"locklab-app-1-1\nlab_app-1.1.abc\n", "lab_app-1.1.abc"},
		"a Swarm of this machine's Docker":  {"active\n", "active"},
		"networks of this machine's Docker": {"bridge\nhost\nlab_lab\ndocker_gwbridge\n", "lab_lab,docker_gwbridge"},
		"control groups":                    {"/sys/fs/cgroup/pids/locklab-swarm\n", "/sys/fs/cgroup/pids/locklab-swarm"},
	}
	for _, kind := range kinds {
		c, known := cases[kind.Name]
		if got := strings.Join(kind.Found(c.listed), ","); !known || got != c.want {
			t.Errorf("%s: found %q, want %q", kind.Name, got, c.want)
		}
	}
}
