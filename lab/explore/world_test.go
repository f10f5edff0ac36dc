package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
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
		if _, err := memory.Do(t.Context(), "FLUSHALL"); err != nil {
			t.Fatal(err)
		}
		err := New(articlelock.Compare, c.server, time.Minute, "A", nil).Move(t.Context(), lost)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if key, _ := memory.redis.Get(articlelock.Key); key != c.key {
			t.Errorf("%s: the lock is of %q, want %q", c.name, key, c.key)
		}
	}
}

// answers is a server that goes away after so many commands.
type answers struct {
	Server
	left int
}

func (a *answers) Do(ctx context.Context, command ...any) (any, error) {
	if a.left--; a.left < 0 {
		return nil, io.EOF
	}
	return a.Server.Do(ctx, command...)
}

// Whichever command a server does not answer, the move or the end has an error.
func TestAServerThatGoesAway(t *testing.T) {
	memory, err := NewMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for moves, lock := range map[string]articlelock.Lock{"A A … B A B† A†": articlelock.PlainDEL, "A A … B A A†": articlelock.SETNX} {
		for commands := 0; ; commands++ {
			memory.redis.FlushAll()
			server := &answers{memory, commands}
			w := New(lock, server, time.Minute, "AB", nil)
			var err error
			for _, m := range Moves(moves) {
				if err = w.Move(t.Context(), m); err != nil {
					break
				}
			}
			if err == nil {
				err = w.End(t.Context())
			}
			if (err != nil) != (server.left < 0) || err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%s, after %d commands: %v", lock.Name, commands, err)
			}
			if server.left >= 0 {
				if commands != 7 { // SET, GET, PTTL, SET, SET; GET and PTTL at the end
					t.Errorf("%s sends %d commands", lock.Name, commands)
				}
				break
			}
		}
	}
}

// A client reads the counter as a decimal number. Another text is an error: nobody can say what is lost.
func TestACounterIsADecimalNumber(t *testing.T) {
	memory, err := NewMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	decimal := New(articlelock.SETWithoutNX, memory, time.Minute, "A", nil)
	_, set := memory.Do(t.Context(), "SET", Counter, "12")
	if err := errors.Join(set, decimal.Move(t.Context(), Move{Client: "A"}), decimal.Move(t.Context(), Move{Client: "A"})); err != nil {
		t.Fatal(err)
	}
	if where := decimal.Clients[0].Where(); where != "holds the lock, read 12" {
		t.Errorf("A %s", where)
	}
	w := New(articlelock.SETWithoutNX, memory, time.Minute, "A", nil)
	_, set = memory.Do(t.Context(), "SET", Counter, "many")
	if err := errors.Join(set, w.Move(t.Context(), Move{Client: "A"})); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"read": w.Move(t.Context(), Move{Client: "A"}), "end": w.End(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), `the counter contains "many"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A lock that stores what cannot be put back is refused: each of its moves would begin at a wrong state.
func TestAKeyThatCannotBePutBack(t *testing.T) {
	list := articlelock.Lock{Name: "a list", Acquire: []articlelock.Step{
		{Name: "GET", Command: func(*articlelock.Client) []any { return []any{"GET", articlelock.Key} }},
		{Name: "LPUSH", Command: func(*articlelock.Client) []any { return []any{"LPUSH", articlelock.Key, "x"} }},
	}}
	a := Moves("A A")
	_, explored := Explore(t.Context(), list, Bounds{Clients: "A"}, LostUpdate)
	_, _, replayed := Replay(t.Context(), list, "A", a)
	_, until := Until(t.Context(), list, "A", a, LostUpdate)
	p, err := NewPlay(list, "A")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Move(t.Context(), a[0]); err != nil {
		t.Fatal(err)
	}
	before := len(p.Events())
	_, moved := p.Move(t.Context(), a[1])
	for what, err := range map[string]error{"explored": explored, "replayed": replayed, "until": until, "moved": moved} {
		if err == nil || !strings.Contains(err.Error(), "a key of the type list: it cannot be put back") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(p.Moves()) != 1 || len(p.Events()) != before {
		t.Errorf("after an error %s was done: %v", Text(p.Moves()), p.Events())
	}
}

// The clock of a memory stands, unless time passes: what happens does not depend on when it is played.
func TestTheClockOfAMemory(t *testing.T) {
	var times []string
	for range 2 {
		memory, err := NewMemory()
		if err != nil {
			t.Fatal(err)
		}
		now, err := memory.Do(t.Context(), "TIME")
		if err = errors.Join(err, memory.Close()); err != nil {
			t.Fatal(err)
		}
		times = append(times, fmt.Sprint(now))
	}
	if times[0] != times[1] || !strings.HasPrefix(times[0], "[1800000000 ") {
		t.Errorf("the times are %q", times)
	}
}

// A client names its next step, and none after its end.
func TestTheNextStepOfAClient(t *testing.T) {
	p, err := NewPlay(articlelock.SETNX, "A")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var names []string
	for !p.Over() {
		c := p.Clients()[0]
		names = append(names, c.NextStep())
		if _, err := p.Move(t.Context(), Move{Client: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Move(t.Context(), Move{}); err == nil || !strings.Contains(err.Error(), "nothing happens any more") {
		t.Errorf("after the end: %v", err)
	}
	last := p.Clients()[0]
	if got := strings.Join(names, ", "); got != "SETNX, GET counter, SET counter, DEL" || last.NextStep() != "" {
		t.Errorf("the steps are %s, and then %q", got, last.NextStep())
	}
}

// A client that compares the value itself says whose the lock is. It has released the lock once, with its last command.
func TestAComparisonIsRecorded(t *testing.T) {
	for moves, want := range map[string]string{"A A A A A": "it is its own", "A A A … B A": "it is not its own"} {
		events, _, err := Replay(t.Context(), articlelock.CompareInClient, "AB", Moves(moves))
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
