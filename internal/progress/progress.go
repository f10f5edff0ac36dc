// Package progress shows how far long work is: in one line that changes on a terminal, and in one line for each step elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// Line shows the step that runs. On a terminal mpb draws it. go-pretty asks standard output for the width, which may be a
// file while standard error is a terminal. schollz/progressbar does not cut a long text, and has no lines above.
type Line struct {
	Terminal bool // it changes; otherwise it is written once a step

	to    io.Writer
	mu    sync.Mutex
	state state
	drawn *mpb.Progress // nil: the line is not shown
	bar   *mpb.Bar
}

// New does not write before the first step. On a terminal without a size, as some containers have one, nothing could be drawn.
func New(to io.Writer) *Line {
	l := &Line{to: to}
	if file, ok := to.(*os.File); ok {
		columns, rows, err := term.GetSize(int(file.Fd())) // an error: it is no terminal
		l.Terminal = err == nil && columns > 0 && rows > 0
	}
	return l
}

// Say shows a step that does not count.
func (l *Line) Say(what string) { l.Weighted(0, 0, 0, what) }

// Step shows that the n-th of all steps begins. The steps take about the same time.
func (l *Line) Step(n, all int, what string) { l.Weighted(n, all, float64(n-1)/float64(all), what) }

// Weighted shows that the n-th of all steps begins. done is the part of the work before it, from 0 to 1; with 0 the time left
// is unknown.
func (l *Line) Weighted(n, all int, done float64, what string) {
	if !l.Terminal {
		fmt.Fprintln(l.to, number(n, all)+what)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.step(time.Now(), n, all, done, what)
	if l.drawn == nil {
		l.drawn = mpb.New(mpb.WithOutput(l.to))
		text := decor.Any(func(decor.Statistics) string {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.state.text(time.Now())
		})
		l.bar = l.drawn.New(0, mpb.NopStyle(), mpb.BarFillerTrim(), mpb.PrependDecorators(text))
	}
}

// Print leaves a line above.
func (l *Line) Print(format string, args ...any) {
	l.mu.Lock()
	drawn := l.drawn
	l.mu.Unlock()
	to := l.to
	if drawn != nil { // mpb waits for the text of the line, which needs mu
		to = drawn
	}
	fmt.Fprintf(to, format+"\n", args...)
}

// Done removes the line. A step shows it again.
func (l *Line) Done() {
	l.mu.Lock()
	drawn, bar := l.drawn, l.bar
	l.drawn, l.bar = nil, nil
	l.mu.Unlock()
	if drawn != nil {
		bar.Abort(true)
		drawn.Wait()
	}
}
