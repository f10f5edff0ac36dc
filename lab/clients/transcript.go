package clients

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Transcript is a text of all lines that pass between the lab and programs. Each line has six columns, with a tab between them: seconds
// since the transcript began, the row, its variant, the name of the copy, the direction (> to the program, < from it), and what was said:
//
//	12.345678	T05-pause	paused, token checked	A	>	{"type":"release","id":"a2"}
type Transcript struct {
	began time.Time
	mu    sync.Mutex
	to    *bufio.Writer
}

// NewTranscript begins a transcript that is written to a file. The caller must Flush it.
func NewTranscript(to io.Writer) *Transcript {
	return &Transcript{began: time.Now(), to: bufio.NewWriterSize(to, 64<<10)}
}

// Flush writes what is left of the transcript. The error is the first one of all writes.
func (t *Transcript) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.to.Flush()
}

type transcriptKey struct{}

// WithTranscript returns a context whose dialogues are written to a transcript.
func WithTranscript(ctx context.Context, t *Transcript) context.Context {
	return context.WithValue(ctx, transcriptKey{}, t)
}

// transcriptOf is the transcript of a context, or nil.
func transcriptOf(ctx context.Context) *Transcript {
	t, _ := ctx.Value(transcriptKey{}).(*Transcript)
	return t
}

// speaker is a copy of a program: in a trial, or before the first one.
type speaker struct {
	row, variant string
	trial        int
	name         string
}

// columns are those of a transcript that say who speaks.
func (s speaker) columns() string {
	if s.row == "" {
		s.row, s.variant = "-", "before the first row"
	}
	if s.trial > 1 {
		s.variant += fmt.Sprintf(" (trial %d)", s.trial)
	}
	return s.row + "\t" + s.variant + "\t" + s.name
}

// of returns what writes the lines of a copy. Without a transcript it writes nothing.
func (t *Transcript) of(is speaker) func(direction string, line []byte) {
	if t == nil {
		return func(string, []byte) {}
	}
	columns := is.columns()
	return func(direction string, line []byte) {
		said := visible(string(line))
		t.mu.Lock()
		defer t.mu.Unlock()
		fmt.Fprintf(t.to, "%.6f\t%s\t%s\t%s\n", time.Since(t.began).Seconds(), columns, direction, said)
	}
}

// visible writes control characters of a line as escapes, such as \x1b: they could steer a terminal.
func visible(line string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if strings.IndexFunc(line, hidden) < 0 {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if hidden(r) {
			quoted := strconv.QuoteToASCII(string(r))
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
