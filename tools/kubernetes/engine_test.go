package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
)

// A machine without control groups of version 1 is told before anything is started.
func TestTheClusterRefusesControlGroupsOfVersion2(t *testing.T) {
	isolated := []string{"--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}
	ctx, cancel := context.WithTimeout(testenv.Context(t), time.Minute)
	defer cancel()
	hidden := "mount -t tmpfs none /sys/fs/cgroup"
	if _, err := output(ctx, "unshare", append(isolated, "sh", "-c", hidden)...); err != nil {
		testenv.Skip(t, "the control groups cannot be hidden: "+err.Error())
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	start := []string{"sh", "-c", hidden + ` && exec "$@"`, "sh", "../../" + engine + "/cluster", "start", dir, "none.tar"}
	_, err := output(ctx, "unshare", append(isolated, start...)...)
	ended := (*exec.ExitError)(nil)
	if !errors.As(err, &ended) || ended.ExitCode() != 69 || !strings.Contains(err.Error(), "control groups of version 1") {
		t.Errorf("the cluster says: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it has begun: %v", err)
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
		printed, err := output(testenv.Context(t), "../../"+engine+"/build")
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
