package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// stamp is the version, commit and date of the source, as .ci/stamp prints them. The Makefile, the Dockerfile and .goreleaser.yaml set it
// with -ldflags "-X 'main.stamp=…'".
var stamp string

// unknownBuild is the build of an image that `docker compose build` made, because its context has no commit.
const unknownBuild = "unknown"

// build returns the version or commit that this program was built from.
func build() string {
	version, _, _ := strings.Cut(origin(), " ")
	return cmp.Or(version, unknownBuild)
}

// version returns the output of --version.
func version() string {
	machine := fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if words := strings.Fields(origin()); len(words) == 3 {
		return fmt.Sprintf("app %s (commit %s of %s, %s)", words[0], words[1], words[2], machine)
	}
	return fmt.Sprintf("app %s (%s)", build(), machine)
}

// origin returns the source that this program was built from, in the form of the stamp: from the stamp, from what Go recorded, or from git
// with `go run`, for which Go records nothing. It is empty if nobody knows.
func origin() string { return cmp.Or(stamp, recordedOrigin()) }

var recordedOrigin = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	self, err := os.Executable()
	if err != nil || !strings.Contains(self, "go-build") {
		return ""
	}
	return gitOrigin()
})

// gitOrigin returns the stamp of the checkout that contains the working directory, or "" outside of a checkout.
func gitOrigin() string {
	version := gitOutput("describe", "--match", "v*", "--always", "--dirty")
	return strings.TrimSpace(version + " " + gitOutput("log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%h %cd"))
}

// gitOutput returns the output of a git command, or an empty string if it fails.
func gitOutput(arguments ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", arguments...)
	git.Env = append(os.Environ(), "TZ=UTC0")
	out, _ := git.Output()
	return strings.TrimSpace(string(out))
}
