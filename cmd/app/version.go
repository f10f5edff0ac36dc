package main

import (
	"context"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// stamp is set by the Dockerfile (-ldflags "-X main.stamp=…").
var stamp string

// unknownBuild is the build of an image that `docker compose build` made: its context has no commit.
const unknownBuild = "unknown"

// build names what this program was built from: the stamp, or the commit that Go recorded. `go run` records none, so then git names the
// checkout.
var build = sync.OnceValue(func() string {
	if stamp != "" {
		return stamp
	}
	commit, changed := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				commit = s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+changes"
			}
		}
	}
	if self, err := os.Executable(); commit == "" && err == nil && strings.Contains(self, "go-build") {
		commit = described()
	}
	if commit == "" {
		return unknownBuild
	}
	return commit + changed
})

// described is the commit of the checkout in which this program was started; empty outside of one.
func described() string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
