package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// Game is a [explore.Play] with a person at a terminal: it prints what happens, and reads moves.
type Game struct {
	*explore.Play
	Out       io.Writer
	Screen    Screen
	Reproduce func([]explore.Move) string // the command that plays moves again

	told bool // how it has ended
}

// Begin says what is played. others are the locks that could be played instead.
func (g *Game) Begin(title string, lock articlelock.Lock, others []articlelock.Lock) {
	say := func(words string) { fmt.Fprintln(g.Out, g.Screen.Wrap(words, 0)) }
	say(title)
	article := ""
	if lock.Article != "" {
		article = " (of " + articles(lock.Article) + ")"
	}
	say("The lock: " + lock.Name + article + ". " + explore.Work)
	if len(others) > 1 {
		say("The locks of this experiment, for --lock:")
		for _, l := range others {
			fmt.Fprintf(g.Out, "  %s\n", l.Name)
		}
	}
	say("Moves: " + explore.Legend() + ".")
}

// articles says of short names such as "A0, A2" that they are articles.
func articles(names string) string {
	if strings.Contains(names, ", ") {
		return "the articles " + names
	}
	return "article " + names
}

// Ask plays the moves that are typed, until in ends, or a q is typed. Its error is that of ctx.
func (g *Game) Ask(ctx context.Context, in io.Reader) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	lines := typed(reading, in)
	for {
		g.board()
		g.prompt()
		select {
		case <-ctx.Done():
			fmt.Fprintln(g.Out)
			return ctx.Err()
		case line, more := <-lines:
			if !more {
				fmt.Fprintln(g.Out, "\nNothing more is typed: that is the end.")
			}
			if !more || line == "q" {
				g.End()
				return nil
			}
			g.line(ctx, line)
		}
	}
}

// typed passes on lines, until in or ctx ends. A read that does not end is left to the end of the program.
func typed(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case lines <- strings.TrimSpace(scanner.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// line does what one line asks for: moves, and u for each that is taken back. A line that cannot be read changes nothing.
func (g *Game) line(ctx context.Context, line string) {
	words := strings.Fields(capitals(line))
	if _, err := explore.Parse(strings.Join(slices.DeleteFunc(slices.Clone(words), isBack), " ")); err != nil {
		fmt.Fprintf(g.Out, "%v; u takes a move back, q ends\n", err)
		return
	}
	for _, word := range words {
		if isBack(word) {
			if !g.takeBack() {
				return
			}
		} else if err := g.Do(ctx, explore.Moves(word)); err != nil {
			fmt.Fprintf(g.Out, "%v.\n", err)
			break
		}
	}
	if len(words) > 0 && !isBack(words[len(words)-1]) && g.Over() {
		g.End()
	}
}

func isBack(word string) bool { return word == "u" }

// takeBack takes the last move back, and reports whether there was one.
func (g *Game) takeBack() bool {
	moves := g.Moves()
	if !g.TakeBack() {
		fmt.Fprintln(g.Out, "There is no move to take back.")
		return false
	}
	fmt.Fprintf(g.Out, "%s is taken back.\n", moves[len(moves)-1])
	g.told = false
	return true
}

// capitals lets a client be named by a small letter, where that means nothing else.
func capitals(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if w[0] >= 'a' && w[0] <= 'c' {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// Do plays moves, and stops before the first that is not possible; the error says why.
func (g *Game) Do(ctx context.Context, moves []explore.Move) error {
	for _, m := range moves {
		before := g.Violations()
		happened, err := g.Move(ctx, m)
		if err != nil {
			return err
		}
		g.told = false
		g.tell(m, happened, before)
	}
	return nil
}

// tell says what came of a move, and what it violates that was not violated before.
func (g *Game) tell(m explore.Move, happened []history.Event, before []explore.Violation) {
	fmt.Fprintf(g.Out, "%-3s %s\n", m, m.Says(happened))
	for _, v := range g.Violations() {
		if !slices.Contains(before, v) {
			fmt.Fprintln(g.Out, "    "+Paint("✗ "+string(v), Red, g.Screen.Colour))
		}
	}
}

// board shows the clients with their next steps, and what Redis stores, side by side.
func (g *Game) board() {
	clients := NewTable("client", "is", "next step")
	for _, c := range g.Clients() {
		is := g.Where(c)
		if mistaken := g.Mistaken(c); mistaken != "" {
			is += ", but " + mistaken
		}
		clients.Row(c.Name, is, c.NextStep())
	}
	keys := NewTable("key in Redis", "holds", "expires")
	for _, k := range g.Keys() {
		keys.Row(k.Key, k.Value, k.Expires)
	}
	if keys.Len() == 0 {
		keys.Row("(none)", "", "")
	}
	fmt.Fprintln(g.Out, "\n"+Beside(clients.String(), keys.String()))
}

func (g *Game) prompt() {
	if g.Over() {
		fmt.Fprint(g.Out, "\nEvery client has ended. u: take a move back · q: quit\n> ")
		return
	}
	var names []string
	for _, c := range g.Clients() {
		names = append(names, c.Name)
	}
	const others = "A! or A†: it dies · A?: its reply is lost · t or …: time passes\nSeveral with spaces · u: take a move back · q: quit"
	fmt.Fprintf(g.Out, "\nWhich moves next? %s · %s\n> ", strings.Join(names, ", "), others)
}

// End says what is violated, and draws what has happened; once.
func (g *Game) End() {
	if len(g.Moves()) == 0 || g.told {
		return
	}
	g.told = true
	colour, coloured := Green, g.Screen.Colour && g.Over()
	if len(g.Violations()) > 0 {
		colour, coloured = Red, g.Screen.Colour
	}
	for _, says := range g.Outcome() {
		fmt.Fprintf(g.Out, "\n%s\n", Paint(says, colour, coloured))
	}
	fmt.Fprintf(g.Out, "\n%s\n  %s\n", history.Timelines(g.Events()), g.Reproduce(g.Moves()))
}
