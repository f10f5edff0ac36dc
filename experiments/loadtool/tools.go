package loadtool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Tool is a load tool of this machine, with our scripts or plans.
type Tool struct {
	Name string
	// argv is the command that sends a burst of a kind, and writes to file. run is in no other file, where the tool can write it.
	argv func(checkout string, kind Kind, file, run string) []string
}

// K6 runs the scripts of loadtest/k6.
var K6 = Tool{"k6", func(checkout string, kind Kind, file, run string) []string {
	return []string{
		"k6", "run", "--quiet", "--no-usage-report", "-e", "SUMMARY=" + file, "-e", "RUN_ID=" + run,
		filepath.Join(checkout, "loadtest", "k6", string(kind)+".js"),
	}
}}

// JMeter runs the plans of loadtest/jmeter.
var JMeter = Tool{"JMeter", func(checkout string, kind Kind, file, _ string) []string {
	plans := filepath.Join(checkout, "loadtest", "jmeter")
	return []string{
		filepath.Join(plans, "jmeter"), "-n", "-f", "-t", filepath.Join(plans, string(kind)+".jmx"), "-l", file, "-j", file + ".log",
	}
}}

// Burst is what a tool is to send.
type Burst struct {
	Checkout  string // the folder with loadtest
	Kind      Kind
	Arguments []string // more of them, for the tool
	Variables []string // NAME=VALUE, for the tool, beside those of this process
	File      string   // that the tool writes; a file of this name is removed before
}

// tidyUp is how long a tool that is interrupted may take for its children.
const tidyUp = 5 * time.Second

// Run sends a burst, and returns what it has recorded. The record is of this run: a file of an earlier one is removed before, and a
// file with another id is an error. The tool's output goes to out. Whether its exit status is 0 does not matter, because the file says what
// thresholds say. [ErrFile] means that nothing was sent.
func (t Tool) Run(ctx context.Context, b Burst, out io.Writer) (Record, error) {
	if err := cleared(b.File); err != nil {
		return Record{}, err
	}
	run := rand.Text()
	argv := append(t.argv(b.Checkout, b.Kind, b.File, run), b.Arguments...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), b.Variables...), out, out, tidyUp
	ended := cmd.Run()
	if ctx.Err() != nil {
		return Record{}, ctx.Err()
	}
	record, err := Read(b.File)
	switch {
	case cmd.ProcessState == nil:
		return Record{}, fmt.Errorf("%s does not start; app doctor says how to get it: %w", t.Name, ended)
	case errors.Is(err, os.ErrNotExist):
		return Record{}, fmt.Errorf("%s wrote no file %s, so nothing is judged (%s)", t.Name, b.File, cmd.ProcessState)
	case err != nil:
		return Record{}, fmt.Errorf("%s (%s): %w", t.Name, cmd.ProcessState, err)
	case record.Run != "" && record.Run != run:
		return Record{}, fmt.Errorf("%s is of another run, so nothing is judged; drop -e RUN_ID", b.File)
	}
	return record, nil
}

// ErrFile says that a tool cannot write its file, or that the file that is there is not of a load tool, and was kept.
var ErrFile = errors.New("nothing was sent")

// cleared removes the file of an earlier run, and finds out whether another can be written.
func cleared(file string) error {
	if _, err := Read(file); errors.Is(err, errForeign) {
		return fmt.Errorf("%w: there is a file %s of something else", ErrFile, file)
	}
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.Create(file); err == nil {
			err = errors.Join(probe.Close(), os.Remove(file))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}
