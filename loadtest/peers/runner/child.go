package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"locklab/loadtest/peers/wire"
)

// child is a worker process.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	answers chan wire.Answer // closed when the process has ended
	said    tail
}

// startGo starts this program again, as a worker.
func startGo() (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startChild(self, "worker")
}

func startChild(name string, args ...string) (*child, error) {
	c := &child{cmd: exec.Command(name, args...), answers: make(chan wire.Answer, 1)}
	c.cmd.Stderr = &c.said
	parentDeathSignal(c.cmd)
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.orders = in, json.NewEncoder(in)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.answers)
		for lines := json.NewDecoder(out); ; {
			var a wire.Answer
			if lines.Decode(&a) != nil {
				return
			}
			c.answers <- a
		}
	}()
	return c, nil
}

func (c *child) tell(order wire.Order) error { return c.orders.Encode(order) }

// answer waits for the answer to the last order.
func (c *child) answer(limit time.Duration) (wire.Answer, error) {
	select {
	case a, ok := <-c.answers:
		if !ok {
			return a, fmt.Errorf("the worker has ended: %s", c.said.String())
		}
		if a.Error != "" {
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-time.After(limit):
		return wire.Answer{}, fmt.Errorf("no answer within %s", limit)
	}
}

func (c *child) ask(order wire.Order, limit time.Duration) (wire.Answer, error) {
	if err := c.tell(order); err != nil {
		return wire.Answer{}, err
	}
	return c.answer(limit)
}

// stop closes the worker's input, and kills what does not end then.
func (c *child) stop() {
	_ = c.in.Close()
	kill := time.AfterFunc(8*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	for range c.answers { // its end; a late answer is of no use
	}
	_ = c.cmd.Wait()
}

// tail keeps the last of what a worker says on its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-500):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
