package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lab/report/terminal"
)

type labStepCommand struct {
	ID      string `arg:"" completion-predictor:"experiment" help:"Id of the experiment, such as L03."`
	Lock    string `placeholder:"NAME" help:"Lock to play, by its name or a part of it (default: the first one with a violation)."`
	Clients string `default:"AB" enum:"AB,ABC" placeholder:"AB|ABC" help:"Clients to simulate (default: ${default}, or those in --moves)."`
	Moves   string `placeholder:"MOVES" help:"Moves to play without asking, such as \"A A† B\" (default: ask for each move)."`
}

func (c *labStepCommand) Run(ctx context.Context, std streams) error {
	return c.play(ctx, os.Stdin, std)
}

// stepCommand returns the command line that plays moves.
func stepCommand(id, lock, clients string, moves []explore.Move) string {
	number := lab.Number(id)
	return fmt.Sprintf("%s lab step %s --lock %q --clients %s --moves %q", self(), number, lock, clients, explore.Text(moves))
}

// play plays the moves of the flag, or asks for moves and reads them from in.
func (c *labStepCommand) play(ctx context.Context, in io.Reader, std streams) (err error) {
	e, err := findWithSteps(c.ID)
	if err != nil {
		return err
	}
	lock, err := e.Lock(c.Lock)
	if err != nil {
		return usageErrorf("--lock %w", err)
	}
	moves, err := explore.Parse(c.Moves)
	if err != nil {
		return usageErrorf("--moves: %w", err)
	}
	clients := c.Clients
	for _, name := range explore.Names(moves) {
		switch {
		case name > 'C':
			return usageErrorf("--moves has a client %c; the clients are A, B and C", name)
		case name == 'C':
			clients = "ABC"
		}
	}
	play, err := explore.NewPlay(lock, clients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, play.Close()) }()
	game := &terminal.Game{Play: play, Out: std.out, Screen: screen(std.out), Reproduce: func(moves []explore.Move) string {
		return stepCommand(e.ID, lock.Name, clients, moves)
	}}
	game.Begin(lab.Number(e.ID)+" · "+e.Title, lock, e.Locks())
	if c.Moves == "" && game.Ask(ctx, in) != nil {
		return exitError{exitInterrupted, errors.New("interrupted")}
	}
	impossible := game.Do(ctx, moves)
	if game.End(); impossible != nil {
		return usageErrorf("--moves: %w", impossible)
	}
	return nil
}
