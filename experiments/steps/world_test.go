package steps

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"locklab/history"
	"locklab/lockstrategy/naive"
)

// losing is a server that loses the next reply, or only says so.
type losing struct {
	Server
	keeps, loses bool
}

func (l *losing) LoseReply() { l.loses = !l.keeps }

func (l *losing) Do(ctx context.Context, command ...any) (any, error) {
	reply, err := l.Server.Do(ctx, command...)
	if l.loses {
		l.loses = false
		return nil, io.EOF
	}
	return reply, err
}

// away is a server that does not answer.
type away struct{ Server }

func (away) Do(context.Context, ...any) (any, error) { return nil, io.EOF }

// The server executes the command whose reply is lost. A reply that arrives, or a server that is away, is not a lost reply.
func TestAReplyIsReallyLost(t *testing.T) {
	memory, err := NewMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	lost := Move{Client: "A", Lose: true}
	for _, c := range []struct {
		name      string
		server    Server
		says, key string
	}{
		{"it is away", away{memory}, "EOF", ""},
		{"it loses none", memory, "", "attempt-A"}, // the client ignores the reply
		{"it loses the reply", &losing{Server: memory}, "", "attempt-A"},
		{"the reply arrives", &losing{Server: memory, keeps: true}, "was to be lost, and arrived: OK", "attempt-A"},
	} {
		if err := memory.Client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		err := New(naive.Compare, c.server, time.Minute, "A", nil).Move(t.Context(), lost)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if key := memory.Client.Get(t.Context(), naive.Key).Val(); key != c.key {
			t.Errorf("%s: the lock is of %q, want %q", c.name, key, c.key)
		}
	}
}

// A client that compares the value itself says whose the lock is. It has released the lock once, with its last command.
func TestAComparisonIsRecorded(t *testing.T) {
	for moves, want := range map[string]string{"A A A A A": "it is its own", "A A A … B A": "it is not its own"} {
		events, _, err := Replay(t.Context(), naive.CompareInClient, "AB", Moves(moves))
		if err != nil {
			t.Fatal(err)
		}
		var compares []string
		released := 0
		for _, e := range events {
			if e.Kind == history.Released && e.Timeline == "A" {
				released++
			}
			if found, is := strings.CutPrefix(e.Text, "compares: "); is && e.Kind == history.Note && e.Timeline == "A" {
				compares = append(compares, found)
			}
		}
		if len(compares) != 1 || compares[0] != want || released != 1 {
			t.Errorf("%s: %q, want %q; released %d times", moves, compares, want, released)
		}
	}
}
