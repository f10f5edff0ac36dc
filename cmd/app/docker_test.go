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

	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

// fakeDocker is a docker script that comes first on the PATH. The tests must never reach the real docker, because a lab may be up on this
// machine.
type fakeDocker struct {
	t     *testing.T
	calls string // file with a line for each call

	ps    string // output of docker compose ps
	over  string // topology that the instances were told
	ports string // ports of the lab's containers, as docker ps prints them
	up    string // script to run for docker compose up
	first string // shell cases to try before all others
}

// start puts the script on the PATH. By default all ports belong to the lab, so that it does not matter what runs on this machine.
func (d fakeDocker) start(t *testing.T) *fakeDocker {
	t.Helper()
	testenv.WithoutShell(t, composeDir)
	t.Setenv("LAB_NET", "198.51.100") // reserved for documentation (RFC 5737)
	dir := t.TempDir()
	d.t, d.calls = t, filepath.Join(dir, "calls")
	script := fmt.Sprintf(`#!/bin/sh
%s
printf '%%s\n' "TOPOLOGY=$TOPOLOGY APP_VERSION=$APP_VERSION docker $*" >>%s
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
"inspect "*) echo '{"Config":{"Env":["LAB_TOPOLOGY=%s"]}}' ;;
"logs "*) echo 'nginx: [emerg] host not found' >&2 ;;
*) echo "the fake docker does not know: $*" >&2; exit 9 ;;
esac
`, composefiles.Config(), d.calls, d.first, shellQuote(neededImages(t)),
		shellQuote("locklab|locklab-all-1|"+cmp.Or(d.ports, "127.0.0.1:1-65535->1-65535/tcp")), d.ps, cmp.Or(d.up, "echo Started"), d.over)
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return &d
}

// projects are the topologies that loadedProject has loaded, which takes long.
var projects = map[string]*composefiles.Project{}

// loadedProject returns a topology of this checkout, with the defaults.
func loadedProject(t *testing.T, topology string) *composefiles.Project {
	t.Helper()
	if projects[topology] == nil {
		testenv.WithoutShell(t, composeDir)
		project, err := composefiles.Load(t.Context(), composeDir, topology)
		if err != nil {
			t.Fatal(err)
		}
		projects[topology] = project
	}
	return projects[topology]
}

// neededImages returns the images that app up needs. The load tools are not among them.
func neededImages(t *testing.T) string {
	t.Helper()
	var images []string
	p := loadedProject(t, "single")
	for name, service := range p.Files.Services {
		if p.Starts(name) {
			images = append(images, service.Image)
		}
	}
	return strings.Join(images, "\n")
}

// callsWith returns the calls that contain words, in order.
func (d *fakeDocker) callsWith(words string) []string {
	d.t.Helper()
	text, err := os.ReadFile(d.calls)
	if err != nil {
		d.t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool {
		return !strings.Contains(line, words)
	})
}

// psOutput returns what docker compose ps prints for a topology with nginx in the given state.
func psOutput(t *testing.T, topology, nginx string) string {
	t.Helper()
	var lines []string
	p := loadedProject(t, topology)
	for name := range p.Files.Services {
		line := map[string]any{"Name": "locklab-" + name + "-1", "Service": name, "State": "running", "Health": "healthy", "ExitCode": 0}
		if name == "nginx" && nginx != "running" {
			line["State"], line["Health"], line["ExitCode"] = nginx, "", 1
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if p.Starts(name) {
			lines = append(lines, string(text))
		}
	}
	return strings.Join(lines, "\n")
}

// shellQuote quotes text as one word of a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
