//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testenv"
	"locklab/stack/compose"
)

// fakeDocker is a script before everything on the PATH, and what it answers. No call of these tests
// may reach a real docker: the lab may be up on this machine.
type fakeDocker struct {
	t     *testing.T
	calls string // file with a line for each call

	ps    string // of docker compose ps
	ports string // that containers of the lab hold, as docker ps prints them
	up    string // a script for docker compose up
	first string // cases of a shell, before all others
}

// start puts it in place. By default all ports are this lab's own, so that it matters to no test
// what runs on this machine.
func (d fakeDocker) start(t *testing.T) *fakeDocker {
	t.Helper()
	testenv.WithoutShell(t, composeDir)
	t.Setenv("LAB_NET", "198.51.100") // nobody's, kept for examples (RFC 5737)
	dir := t.TempDir()
	d.t, d.calls = t, filepath.Join(dir, "calls")
	script := fmt.Sprintf(`#!/bin/sh
printf '%%s\n' "REDIS_TOPOLOGY=$REDIS_TOPOLOGY APP_VERSION=$APP_VERSION docker $*" >>%s
case "$*" in
%s
"info "*) echo '{"ServerVersion":"28.0.0","OSType":"linux","ClientInfo":{"Plugins":[{"Name":"compose","Version":"2.40.0"}]}}' ;;
"image ls "*) echo %s ;;
"network ls "*) ;;
"ps "*) echo %s ;;
"compose ps --all --format json") cat <<'END'
%s
END
;;
"compose up "*) %s ;;
"compose --profile"*" down "*) echo Removed ;;
"logs "*) echo 'nginx: [emerg] host not found' >&2 ;;
*) echo "the fake docker does not know: $*" >&2; exit 9 ;;
esac
`, d.calls, d.first, quote(started(t)), quote("locklab|locklab-all-1|"+cmp.Or(d.ports, "127.0.0.1:1-65535->1-65535/tcp")),
		d.ps, cmp.Or(d.up, "echo Started"))
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return &d
}

// started are the images that up needs: no load tool's.
func started(t *testing.T) string {
	t.Helper()
	project, err := compose.Load(t.Context(), composeDir, "")
	if err != nil {
		t.Fatal(err)
	}
	var images []string
	for _, service := range project.Files.Services {
		if compose.Starts(service) {
			images = append(images, service.Image)
		}
	}
	return strings.Join(images, "\n")
}

// called are the calls that have the words, in their order.
func (d *fakeDocker) called(words string) []string {
	d.t.Helper()
	text, err := os.ReadFile(d.calls)
	if err != nil {
		d.t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool {
		return !strings.Contains(line, words)
	})
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// psOutput is what docker compose ps prints of a topology, with nginx in this state.
func psOutput(t *testing.T, topology, nginx string) string {
	t.Helper()
	testenv.WithoutShell(t, composeDir)
	project, err := compose.Load(t.Context(), composeDir, topology)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for name, service := range project.Files.Services {
		line := map[string]any{"Name": "locklab-" + name + "-1", "Service": name, "State": "running", "Health": "healthy", "ExitCode": 0}
		if name == "nginx" && nginx != "running" {
			line["State"], line["Health"], line["ExitCode"] = nginx, "", 1
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if compose.Starts(service) {
			lines = append(lines, string(text))
		}
	}
	return strings.Join(lines, "\n")
}
