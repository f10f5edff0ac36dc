package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/report/junit"
	"locklab/lab/report/terminal"
	"locklab/lab/scorecard"
)

// tryFiles are the files of the flags that a run writes beside its page, and the scorecard that it is compared with. They are opened before
// the tests, which take minutes.
type tryFiles struct {
	junit, log *os.File // nil: the flag is not set
	reported   bool     // junit is written
	transcript *clients.Transcript
	earlier    *scorecard.Scorecard
}

// openFiles reads the earlier scorecard, and creates the files that are written.
func (c *labTryCommand) openFiles() (f *tryFiles, err error) {
	f = new(tryFiles)
	if c.Against != "" {
		if f.earlier, err = scorecard.ReadCard(c.Against); err != nil {
			return nil, usageErrorf("--against is %s; %w", c.Against, err)
		}
	}
	create := func(flag, path string) (file *os.File) {
		if path == "" || err != nil {
			return nil
		}
		file, failed := os.Create(path)
		if failed != nil {
			err = usageErrorf("%s is %s; it cannot be written: %v", flag, path, failed)
		}
		return file
	}
	f.junit, f.log = create("--junit", c.JUnit), create("--transcript", c.Transcript)
	if f.log != nil {
		f.transcript = clients.NewTranscript(f.log)
	}
	return f, err
}

// transcribed lets the dialogues of a context be written down, where the flag says so.
func (f *tryFiles) transcribed(ctx context.Context) context.Context {
	if f.transcript == nil {
		return ctx
	}
	return clients.WithTranscript(ctx, f.transcript)
}

func (f *tryFiles) writeJUnit(card *scorecard.Scorecard) error {
	if f.junit == nil {
		return nil
	}
	f.reported = true
	return junit.Write(f.junit, card)
}

// close writes what is left of the transcript, and closes the files. A report that was not written is removed: readers refuse an empty one.
func (f *tryFiles) close() (err error) {
	if f.transcript != nil {
		err = f.transcript.Flush()
	}
	for _, file := range []*os.File{f.junit, f.log} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	if f.junit != nil && !f.reported {
		err = errors.Join(err, os.Remove(f.junit.Name()))
	}
	return err
}

// check plays the protocol with the program once.
func (c *labTryCommand) check(ctx context.Context, std streams) error {
	checked, err := scorecard.Check(ctx, c.Program[1:], c.options())
	if err != nil {
		return commandError(ctx, err, "the check did not end")
	}
	if err := printResult(std, c.JSON, checked, terminal.CheckedProgram); err != nil {
		return err
	}
	if checked.Wrong != "" {
		return exitError{code: exitUsage}
	}
	return nil
}

// compare prints what changed since an earlier scorecard, and fails when a row became worse. Beside JSON that is a message.
func (c *labTryCommand) compare(card, earlier *scorecard.Scorecard, std streams) error {
	changes, to := card.Against(earlier), std.out
	if c.JSON {
		to = std.err
	}
	fmt.Fprint(to, terminal.Changes(earlier, changes, screen(to)))
	switch {
	case scorecard.AnyWorse(changes):
		return exitError{code: exitUnexpected}
	case card.Stopped != "":
		return verdictError(lab.Inconclusive, "the run stopped before its last row, so it shows nothing of the rows that are left")
	}
	return nil
}

// printHistory prints a line for each saved scorecard.
func (c *labTryCommand) printHistory(std streams) error {
	if len(c.Program) > 0 {
		return usageErrorf("--history starts no program; to select a lock write --name %q", strings.Join(c.Program, " "))
	}
	saved, unreadable := scorecard.Saved(c.Store)
	if unreadable != nil {
		std.say("Not every scorecard can be read: " + lab.OneLine(unreadable.Error()))
	}
	all := scorecard.History(saved, c.Name)
	if len(all) == 0 && c.Name != "" {
		return usageErrorf("--name is %q, and %s has no scorecard of that lock; app lab try --history shows all", c.Name, c.Store)
	}
	if len(all) == 0 {
		return unavailable(fmt.Errorf("%s has no scorecard; app lab try -- PROGRAM saves one", c.Store))
	}
	return printResult(std, c.JSON, all, terminal.History)
}
