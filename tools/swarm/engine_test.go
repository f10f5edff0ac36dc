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
func TestTheEnginesRefuseControlGroupsOfVersion2(t *testing.T) {
	isolated := []string{"--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}
	ctx, cancel := context.WithTimeout(testenv.Context(t), time.Minute)
	defer cancel()
	hidden := "mount -t tmpfs none /sys/fs/cgroup"
	if _, err := output(ctx, "unshare", append(isolated, "sh", "-c", hidden)...); err != nil {
		testenv.Skip(t, "the control groups cannot be hidden: "+err.Error())
	}
	dir := filepath.Join(t.TempDir(), "swarm")
	start := []string{"sh", "-c", hidden + ` && exec "$@"`, "sh", "../../" + engines, "start", dir, "none.tar"}
	_, err := output(ctx, "unshare", append(isolated, start...)...)
	ended := (*exec.ExitError)(nil)
	if !errors.As(err, &ended) || ended.ExitCode() != 69 || !strings.Contains(err.Error(), "control groups of version 1") {
		t.Errorf("the engines say: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it has begun: %v", err)
	}
}
