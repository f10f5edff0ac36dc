package loadtool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"locklab/lab/burst"
)

// Tool is a load tool of this machine with the scripts or plans of a checkout. It is a [burst.Sender].
type Tool struct {
	name    string
	program string
	player
}

var _ burst.Sender = Tool{}

// player lets the tool send one burst after another.
type player interface {
	// play returns what the tool printed, and how it ended. Whether it wrote the shot's file is another question.
	play(ctx context.Context, s shot) (output, ended string, err error)
	Close() error
}

// shot is a burst that a tool is to send.
type shot struct {
	kind    Kind
	version string
	users   int
	target  burst.Target

	file string // that the tool is to write
	run  string // is in no other file; JMeter cannot write it
}

// Name is how people call the tool.
func (t Tool) Name() string { return t.name }

// Views tells of no answer: a tool has its answers at the end.
func (t Tool) Views(ctx context.Context, target burst.Target, version string, users int, _ func(burst.Event)) (burst.Views, error) {
	r, err := t.send(ctx, shot{kind: Pageview, version: version, users: users, target: target})
	if err != nil {
		return burst.Views{}, err
	}
	r.Pageview.ByChance = target.ByChance
	return *r.Pageview, nil
}

// Grabs lets the tool make the order.
func (t Tool) Grabs(ctx context.Context, target burst.Target, version string, drivers int) (burst.Grabs, error) {
	r, err := t.send(ctx, shot{kind: Order, version: version, users: drivers, target: target})
	if err != nil {
		return burst.Grabs{}, err
	}
	r.Order.ByChance = target.ByChance
	return *r.Order, nil
}

// Missing says that the tool is not on this machine. A script that starts the tool may still find none.
func (t Tool) Missing() error {
	if _, is := t.player.(*jmeter); is && runtime.GOOS == "windows" {
		return errors.New("a shell script starts JMeter, and Windows runs none; use WSL, or --tool k6")
	}
	if _, err := exec.LookPath(t.program); err != nil {
		return fmt.Errorf("%s does not start; loadtest/README.md says how to get it: %w", t.name, err)
	}
	return nil
}

// Failure is a run of a tool that left no record of the burst that it was to send.
type Failure struct {
	err    error
	Output string // of the tool
}

// Error does not have the output.
func (f *Failure) Error() string { return f.err.Error() }

// Unwrap is for errors.Is and errors.As.
func (f *Failure) Unwrap() error { return f.err }

// tidyUp is how long a tool that was interrupted may take to end, before it is killed.
const tidyUp = 5 * time.Second

// send lets the tool write to a new folder, and returns what it has recorded. Its exit status does not matter, because the file says what
// thresholds say. Without a record of this burst the error is a [Failure].
func (t Tool) send(ctx context.Context, s shot) (record Record, err error) {
	dir, err := os.MkdirTemp("", "locklab-load-")
	if err != nil {
		return record, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s.file, s.run = filepath.Join(dir, "run"), rand.Text()
	output, ended, err := t.play(ctx, s)
	if ctx.Err() != nil {
		return record, ctx.Err()
	}
	if err != nil {
		return record, errors.Join(t.Missing(), err)
	}
	switch record, err = Read(s.file); {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%s wrote no file, so nothing is judged (%s); what it printed says why", t.name, ended)
	case err != nil:
		err = fmt.Errorf("%s (%s): %w", t.name, ended, err)
	case record.Run != "" && record.Run != s.run || record.Kind != s.kind || record.Version != s.version:
		err = fmt.Errorf("%s wrote the file of another run (%s of %s), so nothing is judged", t.name, record.Kind, record.Version)
	case record.Users != s.users:
		err = fmt.Errorf("%s sent %d requests and not %d, so nothing is judged", t.name, record.Users, s.users)
	}
	if err != nil {
		return record, &Failure{err, strings.TrimSpace(output)}
	}
	return record, nil
}
