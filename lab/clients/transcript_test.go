package clients

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// The lines of copies that speak at the same time stay whole, in the order of their times, and none is lost.
func TestLinesOfATranscriptStayWhole(t *testing.T) {
	var text strings.Builder
	transcript := NewTranscript(&text)
	var group sync.WaitGroup
	for _, name := range []string{"A", "B", "C", "D"} {
		say := transcript.of(speaker{"T01-x", "four", 2, name})
		group.Go(func() {
			for range 1000 {
				say(">", []byte(`{"type":"acquire"}`))
			}
		})
	}
	group.Wait()
	if err := transcript.Flush(); err != nil {
		t.Fatal(err)
	}
	lines, last := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), ""
	for _, line := range lines {
		at, rest, _ := strings.Cut(line, "\t")
		whole := strings.HasPrefix(rest, "T01-x\tfour (trial 2)\t") && strings.HasSuffix(rest, `{"type":"acquire"}`)
		if len(at) == len(last) && at < last || !whole {
			t.Fatalf("the line %q after %s", line, last)
		}
		last = at
	}
	if len(lines) != 4000 {
		t.Errorf("%d lines", len(lines))
	}
}

// A line of a program that would steer a terminal, or begin a line of its own, is written as escapes.
func TestATranscriptShowsControlCharacters(t *testing.T) {
	var text strings.Builder
	transcript := NewTranscript(&text)
	transcript.of(speaker{name: "A"})("<", []byte("\ufeffa\x1b[31m\tb\r\xffé"))
	if err := transcript.Flush(); err != nil || !strings.HasSuffix(text.String(), "\t<\t"+`\ufeffa\x1b[31m\tb\r\ufffdé`+"\n") {
		t.Errorf("%q, %v", text.String(), err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A transcript that could not be written is an error at the end.
func TestATranscriptWithoutSpace(t *testing.T) {
	transcript := NewTranscript(full{})
	transcript.of(speaker{name: "A"})(">", []byte(strings.Repeat("x", 100_000)))
	if err := transcript.Flush(); err == nil {
		t.Error("no error")
	}
}
