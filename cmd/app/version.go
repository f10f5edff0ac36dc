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

// origin is the source that a program was built from.
type origin struct {
	version string // a tag or commit, marked if files were changed; empty if unknown
	commit  string
	date    string // of the commit, RFC 3339
}

// build returns the version or commit that this program was built from.
func build() string { return cmp.Or(currentOrigin().version, unknownBuild) }

// version returns the output of --version.
func version() string {
	o, machine := currentOrigin(), fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if o.commit == "" {
		return fmt.Sprintf("app %s (%s)", build(), machine)
	}
	return fmt.Sprintf("app %s (commit %s of %s, %s)", build(), o.commit, cmp.Or(o.date, "an unknown date"), machine)
}

func (o origin) String() string { return strings.TrimSpace(o.version + " " + o.commit + " " + o.date) }

// currentOrigin returns the origin from the stamp, or the one that Go recorded. `go run` records none, so then it asks git.
func currentOrigin() origin {
	if stamp != "" {
		return parseStamp(stamp)
	}
	return recordedOrigin()
}

// parseStamp reads a stamp. Stamps of older images have only a version.
func parseStamp(text string) (o origin) {
	words := append(strings.Fields(text), "", "", "")
	return origin{words[0], words[1], words[2]}
}

var recordedOrigin = sync.OnceValue(func() (o origin) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return o
	}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			o.commit = s.Value[:12]
		case s.Key == "vcs.time":
			o.date = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if o.commit != "" {
		o.version = o.commit + changed
	} else if self, err := os.Executable(); err == nil && strings.Contains(self, "go-build") {
		o = gitOrigin()
	}
	return o
})

// gitOrigin returns the commit of the checkout that contains the working directory, or an empty origin outside of a checkout.
func gitOrigin() (o origin) {
	o.version = gitOutput("describe", "--match", "v*", "--always", "--dirty")
	o.commit, o.date, _ = strings.Cut(gitOutput("log", "-1", "--format=%h %cI"), " ")
	if date, err := time.Parse(time.RFC3339, o.date); err == nil {
		o.date = date.UTC().Format(time.RFC3339)
	}
	return o
}

// gitOutput returns the output of a git command, or an empty string if it fails.
func gitOutput(command ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", command...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
