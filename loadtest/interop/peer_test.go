package interop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// peer is another process, a JVM or one of ours, that executes commands. A command is a line "THREAD VERB WORD…", its
// answer "THREAD ok WORD…" or "THREAD error TEXT". A thread gets its next command after its answer.
type peer struct {
	name   string
	isOurs bool
	cmd    *exec.Cmd
	in     io.WriteCloser
	log    string

	mu      sync.Mutex
	waiting map[string]chan string // by thread
	ended   chan struct{}          // closed when the process has closed its stdout
}

// startPeer runs command until the test has ended.
func startPeer(t *testing.T, name string, command ...string) *peer {
	t.Helper()
	p := &peer{name: name, waiting: make(map[string]chan string), ended: make(chan struct{})}
	p.log = filepath.Join(t.TempDir(), name+".log")
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env = append(os.Environ(), peerVariable+"="+name)
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go p.receive(out)
	t.Cleanup(func() { p.stop(t) })
	return p
}

// receive passes each answer on to the caller that waits for it.
func (p *peer) receive(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		thread, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		p.mu.Lock()
		waiting := p.waiting[thread]
		delete(p.waiting, thread)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- answer
		}
	}
}

// do gives a command and waits for its answer. When ctx ends, the peer may still be at it. The second word is a topology, if there is one:
// each has threads of its own.
func (p *peer) do(ctx context.Context, thread string, words ...string) (string, error) {
	if len(words) > 1 {
		thread = words[1] + ":" + thread
	}
	said := strings.Join(words, " ")
	answer := make(chan string, 1)
	p.mu.Lock()
	busy := p.waiting[thread] != nil
	p.waiting[thread] = answer
	p.mu.Unlock()
	if busy {
		return "", fmt.Errorf("%s: thread %s is told %q before it has answered", p.name, thread, said)
	}
	if _, err := fmt.Fprintf(p.in, "%s %s\n", thread, said); err != nil {
		return "", fmt.Errorf("%s: %w: %s", p.name, err, p.tail())
	}
	select {
	case text := <-answer:
		status, rest, _ := strings.Cut(text, " ")
		if status != "ok" {
			return "", fmt.Errorf("%s: %s: %s", p.name, said, text)
		}
		return rest, nil
	case <-p.ended:
		return "", fmt.Errorf("%s ended over %q: %s", p.name, said, p.tail())
	case <-ctx.Done():
		return "", fmt.Errorf("%s: no answer to %q: %w", p.name, said, ctx.Err())
	}
}

// must is do where there is nothing to test if it fails.
func (p *peer) must(ctx context.Context, t *testing.T, thread string, words ...string) string {
	t.Helper()
	answer, err := p.do(ctx, thread, words...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// stop ends the process: it does so by itself when it is told nothing more.
func (p *peer) stop(t *testing.T) {
	p.in.Close()
	<-p.ended
	if err := p.cmd.Wait(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Errorf("%s: %v: %s", p.name, err, p.tail())
	}
}

// tail is the end of what the process had to say beside its answers.
func (p *peer) tail() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-2000):])
}
