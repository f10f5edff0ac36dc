package servers

import (
	"io"
	"os"
	"sync"
	"time"
)

const tailSize = 64 << 10 // bytes

// tail keeps the end of what is written to a pipe.
type tail struct {
	pipe  *os.File
	mu    sync.Mutex
	text  []byte
	ended chan struct{} // closed when nothing more comes
}

// newTail returns a tail, and the end of the pipe for its writer. The caller must close w, and call writerEnded.
func newTail() (t *tail, w *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	t = &tail{pipe: r, ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		defer r.Close()
		_, _ = io.Copy(t, r)
	}()
	return t, w, nil
}

// Write keeps the end of text.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = t.text[:copy(t.text, t.text[over:])]
	}
	return len(text), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// writerEnded lets the reading end. A process that the writer left behind may have the pipe for ever: what it writes is not read.
func (t *tail) writerEnded() { _ = t.pipe.SetReadDeadline(time.Now().Add(time.Second)) }
