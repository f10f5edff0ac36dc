package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"locklab/internal/testenv"
)

// The build prints a line for each image: its number of the total, its size, and the duration.
func TestOfflineBuildOutput(t *testing.T) {
	if err := exec.Command("bash", "-c", "(( BASH_VERSINFO[0] >= 4 ))").Run(); err != nil {
		testenv.Skip(t, "bash 4 is missing")
	}
	programs := t.TempDir()
	for name, script := range map[string]string{
		"docker": `case "$*" in
*--images) sed -nE 's/^(REDIS|APP|JMETER)_IMAGE=//p' deploy/defaults.env ;;
*.Size*) echo 7000000 ;;
"compose build"*) exit "$FAILS" ;;
esac`,
		"make": "exit 0",
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := func(fails string) (string, error) {
		cmd := exec.Command("bash", "deploy/offline/build")
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "FAILS="+fails)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := build("0")
	if want := `^\[1/5\] debian\S+ +7 MB  was there
\[2/5\] golang\S+ +7 MB  was there
\[3/5\] redis\S+ +7 MB  was there
\[4/5\] \S+ +7 MB  \d+ s
\[5/5\] \S*jmeter\S+ +7 MB  \d+ s
Every image is there`; err != nil || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%v: %s", err, out)
	}
	out, err = build("1")
	if want := `\[4/5\] \S+ +\n(.|\n)*build: \S+ could not be built`; err == nil || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%v: %s", err, out)
	}
}
