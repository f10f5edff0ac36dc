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

// stamp is what this program was built from: version, commit and date, as .ci/stamp prints them. The Makefile, the Dockerfile and
// .goreleaser.yaml set it (-ldflags "-X 'main.stamp=…'").
var stamp string

// unknownBuild is the build of an image that `docker compose build` made: its context has no commit.
const unknownBuild = "unknown"

// origin is the commit that a program was built from.
type origin struct {
	version string // a tag, or the commit, and whether something is changed; empty: unknown
	commit  string
	date    string // of the commit, RFC 3339
}

// build names what this program was built from: a version, or a commit.
func build() string { return cmp.Or(built().version, unknownBuild) }

// version is the answer to --version.
func version() string {
	o, machine := built(), fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if o.commit == "" {
		return fmt.Sprintf("app %s (%s)", build(), machine)
	}
	return fmt.Sprintf("app %s (commit %s of %s, %s)", build(), o.commit, cmp.Or(o.date, "an unknown date"), machine)
}

func (o origin) String() string { return strings.TrimSpace(o.version + " " + o.commit + " " + o.date) }

// built is the stamp, or the commit that Go recorded. `go run` records none, so then git names the checkout.
func built() origin {
	if stamp != "" {
		return stamped(stamp)
	}
	return recorded()
}

// stamped reads a stamp. The old ones, of images that are still there, have a version only.
func stamped(text string) (o origin) {
	words := append(strings.Fields(text), "", "", "")
	return origin{words[0], words[1], words[2]}
}

var recorded = sync.OnceValue(func() (o origin) {
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
		o = described()
	}
	return o
})

// described is the commit of the checkout in which this program was started; empty outside of one.
func described() (o origin) {
	o.version = git("describe", "--match", "v*", "--always", "--dirty")
	o.commit, o.date, _ = strings.Cut(git("log", "-1", "--format=%h %cI"), " ")
	if date, err := time.Parse(time.RFC3339, o.date); err == nil {
		o.date = date.UTC().Format(time.RFC3339)
	}
	return o
}

// git is the output of a command of git; empty if it fails.
func git(command ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", command...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
