package runner

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"locklab/loadtest/peers/record"
)

// libraries that the page names with their versions.
var libraries = map[string]string{
	"github.com/redis/go-redis/v9":     "go-redis",
	"github.com/go-redsync/redsync/v4": "redsync",
	"github.com/bsm/redislock":         "redislock",
	"github.com/redis/rueidis":         "rueidis",
	"go.etcd.io/etcd/client/v3":        "etcd client",
}

// Describe says where and with what b measures.
func Describe(ctx context.Context, b *Bench, form string, reps int) record.Header {
	versions := map[string]string{"Go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if name := libraries[m.Path]; name != "" {
				versions[name] = m.Version
			}
		}
	}
	if text, err := b.redis[0].info.Info(ctx, "server").Result(); err == nil {
		versions["Redis"] = field(text, "redis_version:")
	}
	if b.etcd != nil {
		versions["etcd"] = field(said("etcd", "--version"), "etcd Version: ")
	}
	if len(b.Missing) == 0 {
		versions["Java"] = strings.Split(said("java", "-version"), "\n")[0]
	}
	return record.Header{
		Date: time.Now().UTC().Format("2006-01-02 15:04 MST"), Form: form, Reps: reps,
		Machine: machine(), Versions: versions, Stamp: strings.TrimSpace(said("git", "describe", "--always", "--dirty")),
		Missing: b.Missing, RoundTrip: b.RoundTrip, Emulated: b.Emulated,
	}
}

func machine() string {
	model := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d × %s, %s %s", runtime.NumCPU(), model, runtime.GOOS, strings.TrimSpace(string(kernel)))
}

func said(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput()
	return string(out)
}

// field is the rest of the line that starts with name.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
