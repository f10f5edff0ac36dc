package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// playMoves plays a lock with what a user types, and returns the output.
func playMoves(t *testing.T, c labStepCommand, typed string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	if c.Clients == "" {
		c.Clients = "AB"
	}
	err := c.play(t.Context(), strings.NewReader(typed), streams{&out, io.Discard})
	return out.String(), err
}

func TestLabStep(t *testing.T) {
	for _, c := range []struct {
		name    string
		command labStepCommand
		typed   string
		want    []string
		avoid   []string
	}{
		{
			"to an unlock by a non-owner",
			labStepCommand{ID: "L03", Lock: "SET NX PX, DEL"},
			"A\nA\nA\nt\nB\nA\nB B B\nq\n",
			[]string{
				"wants the lock", "SET NX PX → OK", "attempt-A", "in 1m0s", "holds the lock, read 0", "passes, until every expiry is over",
				"✗ a client deleted another client's lock", "Violation: a client deleted another client's lock.", "│ DEL → 1",
				`--moves "A A A … B A B B B"`,
			},
			[]string{"without a violation", "\x1b"},
		},
		{
			"moves taken back",
			labStepCommand{ID: "L03", Lock: "SET NX PX, DEL"},
			"u\nA A\nu\nu\nB\nq\n",
			[]string{
				"There is no move to take back.", "A is taken back.", "B   request; SET NX PX → OK; grant", `--moves "B"`,
				"No violation so far",
			},
			nil,
		},
		{"nonsense", labStepCommand{ID: "L03"}, "A X?! A\nwhat\nC\n\nq\n", []string{
			`"X?!" is no move`, `"what" is no move`,
			"C is not possible: there is no client C",
		}, []string{"SET NX PX → OK", "--moves"}},
		{"a list", labStepCommand{ID: "L03", Lock: "SET NX PX, DEL", Moves: "A A A … B A C"}, "never read", []string{
			"✗ a client deleted",
			"C   request; SET NX PX → OK; grant", "Violation: a client deleted",
		}, []string{"> ", "Which moves"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := playMoves(t, c.command, c.typed)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range c.want {
				if !strings.Contains(out, text) {
					t.Errorf("%q is missing in:\n%s", text, out)
				}
			}
			for _, text := range c.avoid {
				if strings.Contains(out, text) {
					t.Errorf("unwanted %q in:\n%s", text, out)
				}
			}
		})
	}
}

// The command plays moves until one is impossible, and then fails.
func TestLabStepImpossibleMove(t *testing.T) {
	for moves, want := range map[string]string{
		"A A?": "--moves: A? is not possible: A cannot lose this reply",
		"A† A": "--moves: A is not possible: A cannot move: it is dead",
	} {
		got := app(t.Context(), "lab", "step", "L03", "--moves", moves)
		if got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit %d: %s", moves, got.code, got.err)
		}
		if first, _, _ := strings.Cut(moves, " "); !strings.Contains(got.out, "--moves \""+first) {
			t.Errorf("%s: the possible moves are not played:\n%s", moves, got.out)
		}
	}
}

// The command can be interrupted while it waits for input.
func TestLabStepIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent, end := io.Pipe()
	asked := make(chan struct{})
	go func() { <-asked; cancel() }()
	err := (&labStepCommand{ID: "L03", Clients: "AB"}).play(ctx, silent, streams{&firstPrompt{asked: asked}, io.Discard})
	_ = end.Close()
	var e exitError
	if !errors.As(err, &e) || e.code != exitInterrupted {
		t.Errorf("got %v", err)
	}
}

// firstPrompt closes asked when the first prompt is written.
type firstPrompt struct {
	asked chan struct{}
	done  bool
}

func (w *firstPrompt) Write(b []byte) (int, error) {
	if !w.done && strings.HasSuffix(string(b), "> ") {
		w.done = true
		close(w.asked)
	}
	return len(b), nil
}
