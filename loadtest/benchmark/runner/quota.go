package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
)

// quotaPeriod is in µs. It is the kernel's default, and that of a container with a limit. When the processes have used up their time, all
// of them stop for the rest of it.
const quotaPeriod = 100_000

// quota is a cgroup with all processes of the benchmark, its servers included: a slow machine slows all of them down. It limits their
// processor time during some runs only.
type quota struct {
	dir  string // of the cgroup
	home string // the cgroup in which this process was before
	file string // with the limit
	half string // what stands there for half of the machine's processor time …
	full string // … and for no limit
}

// enterQuota moves this process into a new cgroup. Its later children are in it, too. The caller must leave it.
func enterQuota() (*quota, error) {
	share := strconv.Itoa(quotaPeriod * runtime.NumCPU() / 2)
	q := &quota{file: "cpu.cfs_quota_us", half: share, full: "-1"} // version 1
	root, own := "/sys/fs/cgroup/cpu", `(?m)^\d+:(?:.*,)?cpu(?:,.*)?:(.*)$`
	if _, err := os.Stat(filepath.Join(root, q.file)); err != nil {
		root, own = "/sys/fs/cgroup", `(?m)^0::(.*)$`
		q.file, q.half, q.full = "cpu.max", fmt.Sprintf("%s %d", share, quotaPeriod), fmt.Sprintf("max %d", quotaPeriod) // version 2
	}
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(own).FindSubmatch(membership)
	if found == nil {
		return nil, fmt.Errorf("/proc/self/cgroup names no cgroup with a quota: %q", membership)
	}
	q.dir, q.home = filepath.Join(root, "locklab-"+strconv.Itoa(os.Getpid())), filepath.Join(root, string(found[1]))
	if err := os.Mkdir(q.dir, 0o755); err != nil {
		return nil, err
	}
	if err := errors.Join(q.limit(false), join(q.dir)); err != nil {
		return nil, errors.Join(err, os.Remove(q.dir))
	}
	return q, nil
}

// limit gives all processes half of the machine's processor time, or all of it.
func (q *quota) limit(half bool) error {
	text := q.full
	if half {
		text = q.half
	}
	return os.WriteFile(filepath.Join(q.dir, q.file), []byte(text), 0o644)
}

// leave moves this process back. Its children must have ended.
func (q *quota) leave() error { return errors.Join(join(q.home), os.Remove(q.dir)) }

// join moves this process into a cgroup.
func join(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644)
}
