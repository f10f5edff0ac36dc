package deploy_test

import (
	"os/exec"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// killed starts a machine whose processes fork all the time, kills it, and prints how many are left.
const killed = `
set -euo pipefail
group=locklab-killed net=10.97.0 bridge=killed dir=
. ./engine.sh
[ "$1" = clean ] && { clean; exit; }
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/netns
bridged
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
	ctx := testenv.Context(t)
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
