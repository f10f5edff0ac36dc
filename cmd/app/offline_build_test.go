package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"locklab/lab/testenv"
)

// The build prints a line for each image: its number of the total, its size, and the duration.
func TestOfflineBuildOutput(t *testing.T) {
	if err := exec.Command("bash", "-c", "(( BASH_VERSINFO[0] >= 4 ))").Run(); err != nil {
		testenv.Skip(t, "bash 4 is missing")
	}
	programs := t.TempDir()
	for name, script := range map[string]string{
		"docker": `case "$*" in
*--images) sed -nE 's/^(REDIS|APP|K6|JMETER)_IMAGE=//p' deploy/defaults.env ;;
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
	if want := `^\[1/7\] debian\S+ +7 MB  was there
\[2/7\] golang\S+ +7 MB  was there
\[3/7\] grafana/k6\S+ +7 MB  was there
\[4/7\] redis\S+ +7 MB  was there
\[5/7\] \S+ +7 MB  \d+ s
\[6/7\] \S*k6\S+ +7 MB  \d+ s
\[7/7\] \S*jmeter\S+ +7 MB  \d+ s
Every image is there`; err != nil || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%v: %s", err, out)
	}
	out, err = build("1")
	if want := `\[5/7\] \S+ +\n(.|\n)*build: \S+ could not be built`; err == nil || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%v: %s", err, out)
	}
}
