package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"locklab/experiments/steps"
	"locklab/history"
)

// begin says what is played.
func (g *game) begin() {
	say := func(format string, args ...any) { fmt.Fprintln(g.out, wrapped(fmt.Sprintf(format, args...), width)) }
	say("%s: %s", g.of.ID, g.of.Claim)
	shown := ""
	if g.lock.Article != "" {
		shown = " (" + g.lock.Article + ")"
	}
	say("The lock: %s%s. Each client takes it, reads a counter, writes it back plus one, and gives the lock back.", g.lock.Name, shown)
	if others := locksOf(g.of); len(others) > 1 {
		fmt.Fprintln(g.out, "The locks of this experiment, for --lock:")
		for _, l := range others {
			fmt.Fprintf(g.out, "  %s\n", l.Name)
		}
	}
	say("Moves: %s.", key)
}

// board shows the clients with their next steps, and what Redis holds, side by side.
func (g *game) board() {
	clients := newTable()
	clients.AppendHeader(row("client", "is", "next step"))
	for _, w := range g.Clients() {
		where, next := w.Where()
		clients.AppendRow(row(w.Name, where, next))
	}
	keys := newTable()
	keys.AppendHeader(row("key in Redis", "holds", "expires"))
	for _, k := range g.Keys() {
		keys.AppendRow(row(k.Key, k.Value, k.Expires))
	}
	if keys.Length() == 0 {
		keys.AppendRow(row("(none)", "", ""))
	}
	fmt.Fprintln(g.out, "\n"+beside(render(clients), render(keys)))
}

// beside puts two blocks of text next to each other.
func beside(left, right string) string {
	one, two := strings.Split(left, "\n"), strings.Split(right, "\n")
	column := text.LongestLineLen(left)
	var lines []string
	for i := range max(len(one), len(two)) {
		var l, r string
		if i < len(one) {
			l = one[i]
		}
		if i < len(two) {
			r = two[i]
		}
		lines = append(lines, strings.TrimRight(text.Pad(l, column, ' ')+"   "+r, " "))
	}
	return strings.Join(lines, "\n")
}

// prompt asks.
func (g *game) prompt() {
	if g.Over() {
		fmt.Fprint(g.out, "\nEverybody has come to an end. u: take a move back · q: quit\n> ")
		return
	}
	fmt.Fprint(g.out, "\nWhich moves next? A, A† (or A!), A?, … (or t); several with spaces · u: take a move back · q: quit\n> ")
}

// tell says what came of a move, and what is broken since.
func (g *game) tell(m steps.Move, happened []history.Event, before []steps.Violation) {
	var words []string
	for _, e := range happened {
		says := e.Summary()
		if e.Timeline != m.Client {
			says = e.Timeline + ": " + says
		}
		words = append(words, says)
	}
	fmt.Fprintf(g.out, "%-3s %s\n", m, strings.Join(words, "; "))
	for _, b := range g.Violations() {
		if !slices.Contains(before, b) {
			fmt.Fprintln(g.out, "    "+g.paint("✗ "+string(b), text.FgRed))
		}
	}
}

// end says what is broken, and draws what has happened; once.
func (g *game) end() {
	if len(g.moves) == 0 || g.told {
		return
	}
	g.told = true
	broken := g.Violations()
	switch {
	case len(broken) > 0:
		for _, b := range broken {
			fmt.Fprintf(g.out, "\n%s\n", g.paint("Broken: "+string(b)+".", text.FgRed))
		}
	case g.Over():
		fmt.Fprintf(g.out, "\n%s\n", g.paint("Everybody has come to an end, and nothing is broken.", text.FgGreen))
	default:
		fmt.Fprintln(g.out, "\nNothing is broken so far; not everybody has come to an end.")
	}
	fmt.Fprintf(g.out, "\n%s\n  %s\n", history.Timelines(g.Events()), stepCommand(g.of, g.lock, g.clients, g.moves))
}

func (g *game) paint(words string, colour text.Color) string {
	if !g.colour {
		return words
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour, words)
}
