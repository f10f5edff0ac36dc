package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// etcdVersion is that of lab/servers/etcdserver/go.mod.
const etcdVersion = "v3.7.3"

// EtcdServer is etcd of the PATH, or what is needed to build one.
var EtcdServer = Program{Name: "etcd", Debian: "etcd-server", Homebrew: "etcd", find: func() error {
	_, _, err := etcdProgram()
	return err
}, version: func() string {
	argv, _, err := etcdProgram()
	if err == nil && argv[0] != "etcd" { // one that is built
		return strings.TrimPrefix(etcdVersion, "v")
	}
	return Program{Name: "etcd"}.Version()
}}

// EtcdProgram returns the command that runs an etcd server: etcd of the PATH, or the module lab/servers/etcdserver. The module is built on
// first use, which takes some minutes, and is kept in the user's cache directory.
func EtcdProgram(ctx context.Context) (argv []string, err error) {
	if err := EtcdServer.Missing(); err != nil {
		return nil, err
	}
	argv, source, err := etcdProgram()
	if err == nil && source != "" {
		err = buildEtcd(ctx, source, argv[0])
	}
	return argv, err
}

// PrepareEtcd builds that program where there is none. It calls tell before, because that takes minutes.
func PrepareEtcd(ctx context.Context, tell func()) error {
	_, source, err := etcdProgram()
	if err == nil && source != "" {
		tell()
		_, err = EtcdProgram(ctx)
	}
	return err
}

// EtcdIsThere reports whether an etcd can start without a build, which takes minutes.
func EtcdIsThere() bool {
	_, source, err := etcdProgram()
	return err == nil && source == ""
}

// etcdProgram finds the command. source is where it is built first; empty: it is there.
func etcdProgram() (argv []string, source string, err error) {
	if _, err := exec.LookPath("etcd"); err == nil {
		return []string{"etcd"}, "", nil
	}
	const none = "etcd is missing, and %s to build one with"
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, "", fmt.Errorf(none+": %w", "there is no directory", err)
	}
	argv = []string{filepath.Join(cache, "locklab", "etcd-"+etcdVersion), unsafeNoFsync}
	if _, err := os.Stat(argv[0]); err == nil {
		return argv, "", nil
	}
	_, file, _, _ := runtime.Caller(0)
	source = filepath.Join(filepath.Dir(file), "etcdserver")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return nil, "", fmt.Errorf(none, "there is no checkout of this program")
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, "", fmt.Errorf(none, "there is no go")
	}
	return argv, source, nil
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
	build.Cancel = func() error { return build.Process.Signal(os.Interrupt) } // it ends its compilers, and removes what they wrote
	build.WaitDelay = 10 * time.Second
	build.Dir, build.Env = source, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("stack: there is no etcd on the PATH, and go cannot build one: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(unfinished, program)
}
