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
	answers *json.Decoder
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

// startChild starts worker number i for a lock.
func (b *Bench) startChild(i int, lock string) (*child, error) {
	name := fmt.Sprintf("worker-%d", i)
	if !onJava(lock) {
		return newChild(b.stack.Dialogue(workerRole, name))
	}
	if b.jvms[i] == nil {
		classes := jar + ":" + filepath.Join(filepath.Dir(jar), "lib", "*")
		c, err := newChild(b.stack.Program("java-"+name, "java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", classes, "locklab.Worker"))
		if err != nil {
			return nil, err
		}
		b.jvms[i] = c
	}
	return b.jvms[i], nil
}

func newChild(w *servers.Dialogue, err error) (*child, error) {
	if err != nil {
		return nil, err
	}
	return &child{w, json.NewEncoder(w.In), json.NewDecoder(w.Out)}, nil
}

// stopJava ends the JVMs; the next run starts new ones.
func (b *Bench) stopJava() {
	for _, c := range b.jvms {
		c.stop()
	}
	clear(b.jvms)
}

func (c *child) tell(order worker.Order) error { return c.orders.Encode(order) }

// answer waits for the answer to the last order. A worker that does not answer before the limit is killed.
func (c *child) answer(limit time.Duration) (a worker.Answer, err error) {
	kill := time.AfterFunc(limit, c.Kill)
	if err := c.answers.Decode(&a); err != nil {
		if !kill.Stop() {
			return a, fmt.Errorf("no answer within %s", limit)
		}
		return a, fmt.Errorf("worker %s has ended", c)
	}
	kill.Stop()
	if a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
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
	_, _ = io.Copy(io.Discard, c.Out) // until its end
	<-c.Done()
	_ = c.Out.Close()
}
