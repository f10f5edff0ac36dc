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
	"slices"
	"strings"
	"time"
)

// Tool is a load tool of this machine, with our scripts or plans.
type Tool struct {
	Name string
	// argv is the command that sends a burst, and writes to file. run is in no other file, where the tool can write it.
	argv func(b Burst, file, run string) []string
	// variables are NAME=VALUE, for what the command does not say.
	variables func(Burst) []string
}

// K6 runs the scripts of loadtest/k6. It opens no port of its own, which a second k6 on this machine would miss.
var K6 = Tool{"k6", func(b Burst, file, run string) []string {
	return []string{
		"k6", "run", "--quiet", "--no-usage-report", "--address=", "-e", "SUMMARY=" + file, "-e", "RUN_ID=" + run,
		filepath.Join(b.Checkout, "loadtest", "k6", string(b.Kind)+".js"),
	}
}, func(b Burst) []string {
	if b.URL == "" {
		return nil
	}
	return []string{"BASE_URL=" + b.URL, "ADMIN_TOKEN=" + b.AdminToken}
}}

// JMeter runs the plans of loadtest/jmeter.
var JMeter = Tool{"JMeter", func(b Burst, file, _ string) []string {
	plans := filepath.Join(b.Checkout, "loadtest", "jmeter")
	argv := []string{
		filepath.Join(plans, "jmeter"), "-n", "-f", "-t", filepath.Join(plans, string(b.Kind)+".jmx"), "-l", file, "-j", file + ".log",
	}
	if host, port, named := strings.Cut(strings.TrimPrefix(b.URL, "http://"), ":"); named {
		argv = append(argv, "-Jhost="+host, "-Jport="+port, "-Jtoken="+b.AdminToken)
	}
	return argv
}, func(Burst) []string { return nil }}

// Burst is what a tool is to send.
type Burst struct {
	Checkout   string // the folder with loadtest
	Kind       Kind
	URL        string   // of the balancer, as http://host:port; empty: what the tool's own settings say
	AdminToken string   // of the instances; empty: none
	Arguments  []string // more of them, for the tool. They take precedence
	Variables  []string // NAME=VALUE, for the tool, beside those of this process
	File       string   // that the tool writes; a file of this name is removed before
}

// tidyUp is how long a tool that was interrupted may take to end, before it is killed.
const tidyUp = 5 * time.Second

// ErrFile says that the file cannot be written, or that what is there is not of an earlier run, and was kept. Nothing was sent.
var ErrFile = errors.New("nothing was sent")

// Run sends a burst, and returns what it has recorded. The record is of this run. The file of an earlier one is removed before, and the
// tool writes to a new folder beside it. A file with another id is an error. The tool's output goes to out. Its exit status does not
// matter, because the file says what thresholds say. After a tool that failed there is no file; before its start nothing is removed.
func (t Tool) Run(ctx context.Context, b Burst, out io.Writer) (record Record, err error) {
	run := rand.Text()
	if _, err := exec.LookPath(t.argv(b, "", run)[0]); err != nil {
		return record, fmt.Errorf("%s does not start; app doctor says how to get it: %w", t.Name, err)
	}
	dir, err := cleared(b.File)
	if err != nil {
		return record, fmt.Errorf("%w: %w", ErrFile, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	written := filepath.Join(dir, filepath.Base(b.File))
	argv := append(t.argv(b, written, run), b.Arguments...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = slices.Concat(os.Environ(), t.variables(b), b.Variables)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, tidyUp
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if _ = cmd.Run(); ctx.Err() != nil {
		return record, ctx.Err()
	}
	switch record, err = Read(written); {
	case errors.Is(err, os.ErrNotExist):
		return record, fmt.Errorf("%s wrote no file, so nothing is judged (%s); what it printed says why", t.Name, cmd.ProcessState)
	case err != nil:
		return record, fmt.Errorf("%s (%s): %w", t.Name, cmd.ProcessState, err)
	case record.Run != "" && record.Run != run:
		return record, fmt.Errorf("%s wrote the file of another run, so nothing is judged; drop -e RUN_ID", t.Name)
	}
	return record, os.Rename(written, b.File)
}

// cleared removes the file of an earlier run, and makes a new folder beside it. It removes an empty file, or one that a burst of ours left,
// and nothing else.
func cleared(file string) (dir string, err error) {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", file)
	default:
		if _, err := Read(file); err != nil && info.Size() > 0 {
			return "", fmt.Errorf("there is a file %s of something else", file)
		}
		if err := os.Remove(file); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(filepath.Dir(file), ".load-")
}
