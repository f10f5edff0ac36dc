package loadtool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// K6 runs the scripts of loadtest/k6.
func K6(checkout string) Tool {
	return Tool{"k6", "k6", k6{filepath.Join(checkout, "loadtest", "k6")}}
}

// JMeter plays the plans of loadtest/jmeter.
func JMeter(checkout string) Tool {
	plans := filepath.Join(checkout, "loadtest", "jmeter")
	script := filepath.Join(plans, "jmeter")
	return Tool{"JMeter", script, &jmeter{plans: plans, script: script}}
}

// k6 is started for each burst.
type k6 struct{ scripts string }

// play opens no port of k6's own, which a second k6 on this machine would miss. The token is in no command line, which others can read.
func (k k6) play(ctx context.Context, s shot) (output, ended string, err error) {
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, "k6", "run", "--quiet", "--no-usage-report", "--address=", "-e", "SUMMARY="+s.file, "-e", "RUN_ID="+s.run,
		"-e", "BASE_URL="+s.target.URL, "-e", "VERSION="+s.version, "-e", fmt.Sprintf("USERS=%d", s.users),
		filepath.Join(k.scripts, string(s.kind)+".js"))
	cmd.Env = append(os.Environ(), "K6_WEB_DASHBOARD=false", "ADMIN_TOKEN="+s.target.AdminToken)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &printed, &printed, tidyUp
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err = cmd.Run(); cmd.ProcessState == nil {
		return "", "", err
	}
	return printed.String(), cmd.ProcessState.String(), nil
}

func (k6) Close() error { return nil }

// jmeter is one JMeter for all bursts: its start takes longer than a burst. The first burst starts it.
type jmeter struct {
	plans, script string

	cmd     *exec.Cmd // nil: it does not run
	plays   io.WriteCloser
	printed *os.File
	answers chan answered // closed after the last output
}

// answered is how bursts.groovy has played a plan, and what was printed meanwhile. Without how JMeter has ended.
type answered struct{ how, output string }

// answerPrefix begins the answers of bursts.groovy.
const answerPrefix = "burst: "

func (j *jmeter) play(ctx context.Context, s shot) (output, ended string, err error) {
	if j.cmd == nil {
		if err := j.start(); err != nil {
			return "", "", err
		}
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.target.URL, "http://"))
	if err != nil {
		return "", "", err
	}
	// An error says that JMeter has ended, and so does its answer.
	_, _ = fmt.Fprintf(j.plays, "%s\t%s\thost=%s\tport=%s\tversion=%s\tusers=%d\ttoken=%s\n",
		filepath.Join(j.plans, string(s.kind)+".jmx"), s.file, host, port, s.version, s.users, s.target.AdminToken)
	select {
	case a := <-j.answers:
		if a.how == "" {
			a.how = j.end()
		}
		return a.output, a.how, nil
	case <-ctx.Done():
		j.end()
		return "", "", ctx.Err()
	}
}

func (j *jmeter) start() error {
	cmd := exec.Command(j.script, "bursts")
	plays, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	printed, output, err := os.Pipe()
	if err != nil {
		return errors.Join(err, plays.Close())
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return errors.Join(err, printed.Close())
	}
	j.cmd, j.plays, j.printed, j.answers = cmd, plays, printed, make(chan answered)
	go listen(printed, j.answers)
	return nil
}

// listen tells of each answer, and of the end.
func listen(printed io.Reader, answers chan<- answered) {
	defer close(answers)
	var output strings.Builder
	for lines := bufio.NewReader(printed); ; {
		line, err := lines.ReadString('\n')
		if how, is := strings.CutPrefix(line, answerPrefix); is {
			answers <- answered{strings.TrimSpace(how), output.String()}
			output.Reset()
			continue
		}
		output.WriteString(line)
		if err != nil {
			answers <- answered{"", output.String()}
			return
		}
	}
}

// end interrupts JMeter, and returns how it has ended.
func (j *jmeter) end() string {
	_ = j.cmd.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(tidyUp, func() {
		_ = j.cmd.Process.Kill()
		_ = j.printed.Close() // a child of the script may still have it
	})
	defer kill.Stop()
	for range j.answers { // until the last output
	}
	_ = j.cmd.Wait()
	_ = j.printed.Close()
	ended := j.cmd.ProcessState.String()
	j.cmd = nil
	return ended
}

// Close ends JMeter, if it runs.
func (j *jmeter) Close() error {
	if j.cmd != nil {
		j.end()
	}
	return nil
}
