package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
)

const engine = "../../deploy/kubernetes/engine/"

// A killed run leaves settings of the kernel and a folder. `clean` writes back the settings from before it, and removes the folder.
func TestWhatAKilledRunLeftIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	setting, same, folder := filepath.Join(tmp, "panic"), "/proc/version", filepath.Join(tmp, "locklab-kubernetes")
	version, err := output(t.Context(), "cat", same)
	if err != nil {
		testenv.Skip(t, "this machine has no /proc")
	}
	before := "network interface eth0\nsetting " + setting + "=0\nsetting " + same + "=" + version // which cannot be written
	if err := os.MkdirAll(filepath.Join(folder, "cluster"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{setting: "10\n", filepath.Join(folder, "before"): before} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := output(testenv.Context(t), engine+"run", "clean"); err != nil {
		if strings.Contains(err.Error(), "control groups of version 1") || strings.Contains(err.Error(), "another run") {
			testenv.Skip(t, err.Error())
		}
		t.Fatal(err)
	}
	if value, err := os.ReadFile(setting); err != nil || string(value) != "0\n" {
		t.Errorf("the setting is %q (%v)", value, err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// killed starts a machine whose processes fork all the time, kills it, and prints how many are left.
const killed = `
set -euo pipefail
. <(sed '/^case /,$d' ` + engine + `cluster)
group=locklab-killed net=10.97.0
if [ "$1" = clean ]; then
  while compgen -G "/sys/fs/cgroup/*/$group"; do
    find /sys/fs/cgroup/*/$group -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
  done
  exit
fi
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/netns
bridge
machine one 1
forks() { inside one bash -c 'while :; do (sleep 0.01 & sleep 0.005 &); done' >/dev/null 2>&1; }
forks &
forks &
until [ "$(wc -l <"/sys/fs/cgroup/pids/$group/one/system/cgroup.procs")" -gt 4 ]; do sleep 0.05; done
kill_machine one
ip -o link show one | grep -o 'state [A-Z]*'
cat "/sys/fs/cgroup/pids/$group/one/system/cgroup.procs" | wc -l
`

// A machine that is killed loses its network and each process, although some of them end and others are forked meanwhile.
func TestAMachineThatForksIsKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(testenv.Context(t), time.Minute)
	defer cancel()
	isolated := []string{"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c"}
	// A control group, an interface and a mount are what the script needs.
	able := `cd /sys/fs/cgroup/pids && mkdir -p locklab-killed && ip link add able type bridge && mount -t tmpfs none /run`
	t.Cleanup(func() {
		if out, err := exec.Command("bash", "-c", killed, "bash", "clean").CombinedOutput(); err != nil {
			t.Errorf("the control groups stay: %v: %s", err, out)
		}
	})
	if err := exec.CommandContext(ctx, "unshare", append(isolated, able)...).Run(); err != nil {
		testenv.Skip(t, "this process may make no machine with control groups of version 1: "+err.Error())
	}
	out, err := exec.CommandContext(ctx, "unshare", append(isolated, killed, "bash", "start")...).CombinedOutput()
	if lines := strings.Fields(string(out)); err != nil || strings.Join(lines, " ") != "state DOWN 0" {
		t.Errorf("%v: %s", err, out)
	}
}

// goProgram takes the place of go: a real build takes ten minutes. It writes which package it was to build.
const goProgram = `#!/bin/sh
[ "$1" = list ] && echo v1.2.3 && exit
for argument; do
	[ "$before" != -o ] || : >"$argument"
	before=$argument
done
echo "$before" >>"$BUILT"
`

// Programs of Kubernetes that are there are not built again. Those whose sources are in this repository always are.
func TestOurProgramsAreAlwaysBuilt(t *testing.T) {
	kubernetes := []string{"kube-apiserver", "kubelet", "kube-proxy", "kube-scheduler", "kubectl", "kube-controller-manager"}
	path, bin := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "go"), []byte(goProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+":"+os.Getenv("PATH"))
	t.Setenv("KUBERNETES_BIN", bin)
	for _, c := range []struct{ name, want string }{
		{"the first time", "./pause k8s.io/kubernetes/cmd/" + strings.Join(kubernetes, " k8s.io/kubernetes/cmd/") + " ./dns"},
		{"again", "./pause ./dns"},
	} {
		built := filepath.Join(t.TempDir(), "built")
		t.Setenv("BUILT", built)
		printed, err := output(testenv.Context(t), engine+"build")
		if err != nil || strings.TrimSpace(printed) != bin {
			t.Fatalf("%s: %q, %v", c.name, printed, err)
		}
		got, err := os.ReadFile(built)
		if err != nil || strings.Join(strings.Fields(string(got)), " ") != c.want {
			t.Errorf("%s it built %q, want %q (%v)", c.name, got, c.want, err)
		}
		for _, name := range append(kubernetes, "pause", "dns") {
			if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
				t.Error(err)
			}
		}
	}
}
