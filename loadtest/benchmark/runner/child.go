package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/lab/servers"
	"locklab/loadtest/benchmark/worker"
)

// child is a worker process, and the lines to and from it.
type child struct {
	*servers.Dialogue
	orders  *json.Encoder
	answers chan worker.Answer // closed when the process has ended
}

// jar is the Java worker.
const jar = "java/target/benchmark-1.jar"

var workerRole = servers.Role("benchmark-worker", func(in io.Reader, out io.Writer) int {
	if err := worker.Serve(in, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
})

func onJava(lock string) bool { return strings.HasPrefix(lock, "redisson") }

// startChild starts worker number i for a lock. JVMs stay for the following runs: a cold one would measure its compiler.
func (b *Bench) startChild(i int, lock string) (*child, error) {
	name := fmt.Sprintf("worker-%d", i)
	if !onJava(lock) {
		w, err := b.stack.Dialogue(workerRole, name)
		if err != nil {
			return nil, err
		}
		return newChild(w), nil
	}
	if b.jvms[i] == nil {
		classes := jar + ":" + filepath.Join(filepath.Dir(jar), "lib", "*")
		w, err := b.stack.Program("java-"+name, "java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", classes, "locklab.Worker")
		if err != nil {
			return nil, err
		}
		b.jvms[i] = newChild(w)
	}
	return b.jvms[i], nil
}

func newChild(w *servers.Dialogue) *child {
	c := &child{w, json.NewEncoder(w.In), make(chan worker.Answer, 1)}
	go func() {
		defer close(c.answers)
		for lines := json.NewDecoder(w.Out); ; {
			var a worker.Answer
			if lines.Decode(&a) != nil {
				return
			}
			c.answers <- a
		}
	}()
	return c
}

// stopJava ends the JVMs; the next run starts new ones.
func (b *Bench) stopJava() {
	for _, c := range b.jvms {
		c.stop()
	}
	clear(b.jvms)
}

func (c *child) tell(order worker.Order) error { return c.orders.Encode(order) }

// answer waits for the answer to the last order.
func (c *child) answer(limit time.Duration) (worker.Answer, error) {
	select {
	case a, ok := <-c.answers:
		if !ok {
			return a, fmt.Errorf("worker %s has ended", c)
		}
		if a.Error != "" {
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-time.After(limit):
		return worker.Answer{}, fmt.Errorf("no answer within %s", limit)
	}
}

func (c *child) ask(order worker.Order, limit time.Duration) (worker.Answer, error) {
	if err := c.tell(order); err != nil {
		return worker.Answer{}, err
	}
	return c.answer(limit)
}

// stop closes the worker's input, and kills a worker that does not end then.
func (c *child) stop() {
	_ = c.In.Close()
	kill := time.AfterFunc(8*time.Second, c.Kill)
	defer kill.Stop()
	for range c.answers { // until its end; a late answer is of no use
	}
	<-c.Done()
	_ = c.Out.Close()
}
