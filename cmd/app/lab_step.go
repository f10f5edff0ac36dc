package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

// labStepCommand holds the settings of lab step.
type labStepCommand struct {
	ID      string `arg:"" help:"The experiment, such as L03."`
	Lock    string `placeholder:"NAME" help:"Which of its locks, by its name or a part of it (the first that breaks)."`
	Clients string `default:"AB" placeholder:"AB|ABC" help:"Who is there (${default}, or who is in --moves)."`
	Moves   string `placeholder:"MOVES" help:"Play these moves, such as \"A A† B\", and ask nothing."`
}

// Run lets somebody play.
func (c *labStepCommand) Run(ctx context.Context, std streams) error {
	return c.play(ctx, os.Stdin, std)
}

// game is a lock in somebody's hands.
type game struct {
	*steps.Play
	of      experiments.Experiment
	lock    naive.Lock
	clients string
	moves   []steps.Move // so far
	told    bool         // how it has ended
	out     io.Writer
	colour  bool
}

// play asks in for moves, unless there are some already.
func (c *labStepCommand) play(ctx context.Context, in io.Reader, std streams) (err error) {
	e, err := withOrders(c.ID)
	if err != nil {
		return err
	}
	lock, err := lockOf(e, c.Lock)
	if err != nil {
		return err
	}
	moves, err := steps.Parse(c.Moves)
	if err != nil {
		return misuse("--moves: %w", err)
	}
	clients, err := c.who(moves)
	if err != nil {
		return err
	}
	play, err := steps.NewPlay(lock, clients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, play.Close()) }()
	g := &game{Play: play, of: e, lock: lock, clients: clients, out: std.out, colour: colours(std.out)}
	g.begin()
	if c.Moves != "" {
		impossible := g.do(ctx, moves)
		if g.end(); impossible != nil {
			return misuse("--moves: %w", impossible)
		}
		return nil
	}
	return g.ask(ctx, in)
}

// who is there: as many as were asked for, and everybody who moves.
func (c *labStepCommand) who(moves []steps.Move) (string, error) {
	if err := clientsOf(c.Clients); err != nil {
		return "", err
	}
	clients := c.Clients
	for _, name := range strings.Split(steps.Names(moves), "") {
		switch {
		case name > "C":
			return "", misuse("--moves has a client %s; there are A, B and C", name)
		case name == "C":
			clients = "ABC"
		}
	}
	return clients, nil
}

// ask plays what is typed, until there is nothing more.
func (g *game) ask(ctx context.Context, in io.Reader) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	lines := typed(reading, in)
	for {
		g.board()
		g.prompt()
		select {
		case <-ctx.Done():
			fmt.Fprintln(g.out)
			return exitError{exitInterrupted, errors.New("interrupted")}
		case line, more := <-lines:
			switch {
			case !more:
				fmt.Fprintln(g.out, "\nNothing more is typed: that is the end.")
				g.end()
				return nil
			case line == "q":
				g.end()
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

// line does what one line asks for. A line that cannot be read changes nothing.
func (g *game) line(ctx context.Context, line string) {
	switch line {
	case "":
		return
	case "u":
		if !g.TakeBack() {
			fmt.Fprintln(g.out, "There is no move to take back.")
			return
		}
		taken := g.moves[len(g.moves)-1]
		g.moves, g.told = g.moves[:len(g.moves)-1], false
		fmt.Fprintf(g.out, "%s is taken back.\n", taken)
		return
	}
	moves, err := steps.Parse(capitals(line))
	if err != nil {
		fmt.Fprintf(g.out, "%v; u takes a move back, q ends\n", err)
		return
	}
	if err := g.do(ctx, moves); err != nil {
		fmt.Fprintf(g.out, "%v.\n", err)
	}
	if g.Over() {
		g.end()
	}
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

// do plays moves, and stops before the first that is not possible; the error says why.
func (g *game) do(ctx context.Context, moves []steps.Move) error {
	for _, m := range moves {
		before := g.Violations()
		happened, err := g.Move(ctx, m)
		if err != nil {
			return fmt.Errorf("%s is not possible: %w", m, err)
		}
		g.moves, g.told = append(g.moves, m), false
		g.tell(m, happened, before)
	}
	return nil
}
