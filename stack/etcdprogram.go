package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// etcdVersion is that of stack/etcdserver/go.mod.
const etcdVersion = "v3.7.3"

// EtcdProgram returns the command that runs an etcd server: etcd of the PATH, or the module stack/etcdserver. That one is built on first
// use, which takes a minute, and is kept in the user's cache directory. The error says how to get one.
func EtcdProgram(ctx context.Context) (argv []string, err error) {
	if _, err := exec.LookPath("etcd"); err == nil {
		return []string{"etcd"}, nil
	}
	const how = "install one (Debian: apt-get install etcd-server, macOS: brew install etcd)"
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("stack: there is no etcd on the PATH, and no directory to build one in: %s: %w", how, err)
	}
	program := filepath.Join(cache, "locklab", "etcd-"+etcdVersion)
	if _, err := os.Stat(program); err == nil {
		return []string{program, unsafeNoFsync}, nil
	}
	_, file, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(file), "etcdserver")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return nil, fmt.Errorf("stack: there is no etcd on the PATH, and no checkout of this program to build one from: %s", how)
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("stack: there is no etcd on the PATH, and no go to build one: %s", how)
	}
	return []string{program, unsafeNoFsync}, buildEtcd(ctx, source, program)
}

// unsafeNoFsync is a flag of etcd since 3.5: a server that is killed has written nevertheless, and only a machine that stops loses data.
const unsafeNoFsync = "--unsafe-no-fsync"

// buildEtcd builds beside the program's place, because several processes may do so at the same time.
func buildEtcd(ctx context.Context, source, program string) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	unfinished := fmt.Sprintf("%s.%d", program, os.Getpid())
	build := exec.CommandContext(ctx, "go", "build", "-o", unfinished, ".")
	build.Dir, build.Env = source, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("stack: there is no etcd on the PATH, and go cannot build one: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(unfinished, program)
}
