// Command libraries builds the adapters of examples/locks, and tries each lock with `app lab try`. It saves the scorecards in
// examples/locks/scorecards, and writes the tables of docs/libraries.md.
//
//	libraries                    tries all locks, and writes the page (two hours)
//	libraries save NAME [ROW]…   tries one lock, or some rows of it, saves its scorecard, and writes the page; NAME,NAME tries several
//	libraries show NAME [ROW]…   prints the scorecard, and writes no page
//	libraries mixed              tries which libraries exclude each other on one key, and writes docs/mixed-stack.md (a minute)
//	libraries page               writes both pages from what was saved
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"locklab/internal/marked"
	"locklab/lab/servers"
)

func main() {
	servers.Reexec() // does not return in a process that a stack started from this program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "libraries:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	all, err := readTable()
	if err != nil {
		return err
	}
	locks, job, rows := all, "save", []string(nil)
	switch {
	case len(args) == 1 && args[0] == "page":
		return writePage(all)
	case len(args) == 1 && args[0] == "mixed":
		if err := mixed(ctx, all); err != nil {
			return err
		}
		return writePage(all)
	case len(args) > 0:
		if job = args[0]; len(args) == 1 || job != "save" && job != "show" {
			return fmt.Errorf("it does not know %q; it knows save NAME ROW, show NAME ROW, mixed, and page", strings.Join(args, " "))
		}
		if locks, err = named(all, args[1]); err != nil {
			return err
		}
		rows = args[2:]
	}
	if err := build(ctx, locks); err != nil {
		return err
	}
	if job == "show" {
		c := locks[0].program(ctx, rows)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		return judged(c.Run())
	}
	for n, l := range locks {
		fmt.Fprintf(os.Stderr, "%d/%d %s: %s\n", n+1, len(locks), l.Name, l.Command)
		if failed := l.save(ctx, rows); ctx.Err() != nil {
			return ctx.Err()
		} else if failed != nil { // its scorecard is that of before
			err = errors.Join(err, fmt.Errorf("%s: %w", l.Name, failed))
		}
	}
	return errors.Join(err, writePage(all))
}

// named are the locks with these names, which commas separate. The error lists all names.
func named(all []Lock, names string) (found []Lock, err error) {
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(all, func(l Lock) bool { return l.Name == name })
		if i < 0 {
			var known []string
			for _, l := range all {
				known = append(known, l.Name)
			}
			return nil, fmt.Errorf("no lock is called %q; the names are %s", name, strings.Join(known, ", "))
		}
		found = append(found, all[i])
	}
	return found, nil
}

// writePage writes the tables of both pages from what was saved.
func writePage(all []Lock) error {
	tables, err := tablesOf(all)
	if err != nil {
		return err
	}
	m, err := savedMixed()
	if err != nil {
		return err
	}
	return errors.Join(marked.UpdateAll(page, tables), marked.UpdateAll(mixedPage, m.tables()))
}
