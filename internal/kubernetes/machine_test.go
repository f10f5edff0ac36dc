package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testenv"
)

// A thing that was not there before is named, and so is a setting that is not as it was. All else is not.
func TestWhatIsLeftIsNamed(t *testing.T) {
	before := state{
		left:     map[string][]string{"network interfaces": {"nodes"}},
		settings: map[string]string{"/proc/sys/kernel/panic": "0", "/proc/sys/vm/panic_on_oom": "0"},
	}
	now := state{
		left:     map[string][]string{"network interfaces": {"nodes", "node1"}, "network namespaces": {"node1"}},
		settings: map[string]string{"/proc/sys/kernel/panic": "10", "/proc/sys/vm/panic_on_oom": "0"},
	}
	want := []string{"network interfaces: node1", "network namespaces: node1", "the setting /proc/sys/kernel/panic: 10 instead of 0"}
	if got := before.since(now); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

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
		c, got := cases[kind.name], []string(nil)
		for _, found := range kind.pattern.FindAllStringSubmatch(c.listed, -1) {
			got = append(got, found[1])
		}
		if c.want == "" || strings.Join(got, ",") != c.want {
			t.Errorf("%s: found %q, want %q", kind.name, got, c.want)
		}
	}
}

// Only the paths that are there are listed.
func TestExistingPathsAreListed(t *testing.T) {
	dir := t.TempDir()
	got, err := output(t.Context(), "sh", "-c", existing(dir+"/missing "+dir+" "+dir+"/*/missing"))
	if err != nil || got != dir+"\n" {
		t.Errorf("listed are %q, %v; there is %s", got, err, dir)
	}
}

// A list that cannot be read is an error, and never an empty list.
func TestALookThatFailsIsAnError(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	only := t.TempDir()
	if err := os.Symlink(shell, filepath.Join(only, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", only)
	_, err = machine()
	for _, kind := range kinds {
		usesShell := strings.HasPrefix(kind.command, "for ")
		if named := err != nil && strings.Contains(err.Error(), kind.name); named == usesShell {
			t.Errorf("%s without the program that lists it: %v", kind.name, err)
		}
	}
	if err := (state{}).unchanged(); err == nil {
		t.Error("nothing could be read, and nothing is left")
	}
}

// A setting that did not change is not written. One that cannot be written does not keep the others from it.
func TestRestoreWritesWhatDiffers(t *testing.T) {
	const readOnly = "/proc/version" // root can read it and not write it
	text, err := os.ReadFile(readOnly)
	if err != nil {
		testenv.Skip(t, "this machine has no /proc")
	}
	dir := t.TempDir()
	same := state{settings: map[string]string{readOnly: strings.TrimSpace(string(text))}}
	if err := same.restore(); err != nil {
		t.Errorf("nothing differs: %v", err)
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	s := state{settings: map[string]string{a: "1", b: "1", readOnly: "1", filepath.Join(dir, "no", "c"): "1"}}
	if err := errors.Join(os.WriteFile(a, []byte("0\n"), 0o600), os.WriteFile(b, []byte("0\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err = s.restore()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), readOnly) {
		t.Errorf("two cannot be written: %v", err)
	}
	for _, name := range []string{a, b} {
		if got, err := os.ReadFile(name); err != nil || string(got) != "1" {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
