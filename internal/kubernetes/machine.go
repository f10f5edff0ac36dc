package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// state is what a cluster could leave on the machine, and the kernel's settings that a kubelet changes.
type state struct {
	left     map[string][]string // kind → names
	settings map[string]string   // file → value
}

// kubeletSettings are the settings of the whole kernel that a kubelet writes. They belong to no namespace.
var kubeletSettings = []string{
	"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops",
	"/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes",
}

// kinds are what a cluster could leave: a command that lists it among other things, and a pattern whose group is its name. No command
// hides a failure, as a pipe does: a list that was not read must not look like an empty one.
var kinds = []struct {
	name, command string
	pattern       *regexp.Regexp
}{
	{"processes of the cluster", "ps -eo args", regexp.MustCompile(`(?m)^(.*(?:locklab-kubernetes-|kube-[a-z-]+ --|kubelet --).*)$`)},
	{"mounts of the cluster", "cat /proc/mounts", regexp.MustCompile(`(?m)^(.*locklab-kubernetes-.*)$`)},
	{"network interfaces", "ip -o link", regexp.MustCompile(`(?m)^\d+: ([^:@]*(?:nodes|node[0-9]|pods)[^:@]*)`)},
	{"network namespaces", "ip netns list", regexp.MustCompile(`(?m)^(\S+)`)},
	{"iptables chains of Kubernetes", "iptables-save", regexp.MustCompile(`(?m)^:((?:KUBE|CNI)\S*)`)},
	{"folders of a kubelet", existing("/var/lib/kubelet /var/lib/cni /var/log/pods /usr/libexec/kubernetes"), regexp.MustCompile(`(.+)`)},
	{"control groups", existing("/sys/fs/cgroup/*/locklab-kubernetes"), regexp.MustCompile(`(.+)`)},
}

// existing is a command that lists the paths that are there.
func existing(paths string) string {
	return `for path in ` + paths + `; do [ ! -e "$path" ] || echo "$path"; done`
}

// machine is the state of this machine now. The error joins all that could not be read; then the state says nothing.
func machine() (state, error) {
	s := state{left: map[string][]string{}, settings: map[string]string{}}
	var failed []error
	for _, kind := range kinds {
		out, err := output(context.Background(), "sh", "-c", kind.command)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s cannot be listed: %w", kind.name, err))
		}
		for _, found := range kind.pattern.FindAllStringSubmatch(out, -1) {
			s.left[kind.name] = append(s.left[kind.name], found[1])
		}
	}
	for _, file := range kubeletSettings {
		value, err := os.ReadFile(file)
		switch {
		case err == nil:
			s.settings[file] = strings.TrimSpace(string(value))
		case !errors.Is(err, fs.ErrNotExist): // a kernel may lack a setting
			failed = append(failed, err)
		}
	}
	return s, errors.Join(failed...)
}

// restore writes the settings back that differ. The error joins those that could not be written.
func (s state) restore() error {
	var failed []error
	for file, value := range s.settings {
		if now, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(now)) == value {
			continue
		}
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			failed = append(failed, fmt.Errorf("the setting %s is not %s again: %w", file, value, err))
		}
	}
	return errors.Join(failed...)
}

// unchanged waits until nothing is there that was not there before: the kernel ends namespaces a moment after their last process.
func (s state) unchanged() error {
	var left []string
	for range 60 {
		now, err := machine()
		if err != nil {
			return err
		}
		if left = s.since(now); len(left) == 0 {
			return nil
		}
		time.Sleep(500 * time.Millisecond) // nothing tells when a namespace has ended
	}
	return fmt.Errorf("left on the machine: %s", strings.Join(left, ", "))
}

// since lists what is there now and was not there before, and the settings that have changed.
func (s state) since(now state) (left []string) {
	for _, kind := range kinds {
		for _, name := range now.left[kind.name] {
			if !slices.Contains(s.left[kind.name], name) {
				left = append(left, kind.name+": "+name)
			}
		}
	}
	for name, value := range s.settings {
		if now.settings[name] != value {
			left = append(left, fmt.Sprintf("the setting %s: %s instead of %s", name, now.settings[name], value))
		}
	}
	return left
}
