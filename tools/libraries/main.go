// Command libraries builds the adapters of examples/locks, and tries each lock with `app lab try`. It writes the tables of
// docs/libraries.md and the rungs of docs/exercise.md, and saves the scorecards in examples/locks/scorecards.
//
//	libraries                    tries all locks, and writes the pages (an hour)
//	libraries save NAME [ROW]…   tries one lock, or some rows of it, and writes its scorecard and the pages; NAME may be all
//	libraries show NAME [ROW]    tries one lock, or one row of it, and prints the scorecard. It writes no page
//	libraries page               writes the pages from the saved scorecards
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// stopping is how long the lab may take to end when it is interrupted.
const stopping = 20 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "libraries:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	t, err := readTable()
	if err != nil {
		return err
	}
	chosen, job := t.all(), "save"
	if len(args) > 0 {
		job = args[0]
	}
	if len(args) > 1 && args[1] != "all" {
		l, err := named(chosen, args[1])
		if err != nil {
			return err
		}
		chosen = []Lock{l}
	}
	switch {
	case job == "save":
		err := saveAll(ctx, chosen, args[min(2, len(args)):])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.Join(err, writePages(t))
	case job == "show" && len(chosen) == 1:
		return show(ctx, chosen[0], args[2:])
	case job == "page":
		return writePages(t)
	}
	return fmt.Errorf("it does not know %q; it knows save, save NAME ROW, save all ROW, show NAME ROW, and page", strings.Join(args, " "))
}

// named is the lock with this name. The error lists all names.
func named(locks []Lock, name string) (Lock, error) {
	var known []string
	for _, l := range locks {
		if l.Name == name {
			return l, nil
		}
		known = append(known, l.Name)
	}
	return Lock{}, fmt.Errorf("no lock is called %q; the names are %s", name, strings.Join(known, ", "))
}

// show builds a lock's adapter, and tries the lock or some of its rows.
func show(ctx context.Context, l Lock, rows []string) error {
	if err := errors.Join(build(ctx, itself), build(ctx, l.Language)); err != nil {
		return err
	}
	argv := []string{"lab", "try", "--name", l.Name}
	if len(rows) > 0 {
		argv = append(argv, "--only", strings.Join(rows, ","))
	}
	c := program(ctx, l, argv)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return judged(c.Run())
}

// program is a run of the lab on a lock. At the end of ctx the lab is interrupted, so that it stops its servers.
func program(ctx context.Context, l Lock, argv []string) *exec.Cmd {
	c := exec.CommandContext(ctx, app, slices.Concat(argv, []string{"--"}, l.argv())...)
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(os.Interrupt) }, stopping
	return c
}

// judged is an error of `app lab try` unless the lock was tried: then the scorecard says what it came to.
func judged(err error) error {
	const inconclusive = 2 // the largest exit status with a scorecard
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && ended.Exited() && ended.ExitCode() <= inconclusive {
		return nil
	}
	return err
}
