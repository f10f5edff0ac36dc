// Command mutants changes one line of the code at a time and expects that a test fails. A change that no test notices is
// a promise without a test. `make mutants` runs it over mutants.txt, which explains its format.
//
// `make mutants SEED=1` draws the changes instead, from the Go files of some packages, and says which of them no test of their package
// has noticed. Such a survivor is a question, not a failure: some changes do the same as the code that they replace.
//
// Nothing in the checkout is changed: `go test -overlay` reads the changed file instead of the original one, an embedded
// script as well as a Go file.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// simultaneous is the number of tests that run at the same time.
const simultaneous = 3

// Exit codes, as those of the program.
const (
	exitSurvived    = 1
	exitUsage       = 64
	exitUnavailable = 69
)

func main() {
	only := flag.String("run", "", "regular expression for the names of the mutants to test (default: all)")
	of := flag.Int("of", 1, "test one of this many parts of the list")
	part := flag.Int("part", 0, "`number` of that part; the numbers begin again after the last one")
	seed := flag.Uint64("seed", 0, "draw random changes in PACKAGES instead, and which they are depends on this `number`")
	n := flag.Int("n", 27, "how many are drawn")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage, in the root of the checkout:\n"+
			"  mutants [-run REGEXP] [-of N -part N] LIST\n  mutants -seed NUMBER [-n N] PACKAGES")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() < 1 || *seed == 0 && flag.NArg() > 1 || *of < 1 || *part < 0 || *n < 1 {
		flag.Usage()
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var notKilled int
	var err error
	if *seed > 0 {
		random := draw{seed: *seed, n: *n, packages: flag.Args(), slack: 30 * time.Second}
		err = random.run(ctx, os.Stdout)
	} else {
		notKilled, err = runList(ctx, flag.Arg(0), *only, *part, *of)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(exitUnavailable)
	}
	if notKilled > 0 {
		os.Exit(exitSurvived)
	}
}

// runList tests the part of a list, of the mutants whose names match.
func runList(ctx context.Context, list, only string, part, of int) (notKilled int, err error) {
	all, err := load(list, only)
	if err != nil {
		return 0, err
	}
	return run(ctx, os.Stdout, share(all, part, of))
}

// load reads the mutants of a list whose names match.
func load(list, only string) ([]mutant, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	all, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	name, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !name.MatchString(m.name) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no mutant matches %q", list, only)
	}
	return all, nil
}

// share is every of-th mutant, beginning with number part: each part has mutants of all packages.
func share(all []mutant, part, of int) (some []mutant) {
	for i := part % of; i < len(all); i += of {
		some = append(some, all[i])
	}
	return some
}

// run tests each mutant, some of them simultaneously, writes what it found, and returns how many were not killed. It also runs
// each test without a mutant: a test that fails anyway would kill everything.
func run(ctx context.Context, out io.Writer, all []mutant) (notKilled int, err error) {
	began := time.Now()
	unchanged := make(map[string]func() result)
	for _, m := range all {
		unchanged[m.test] = sync.OnceValue(func() result { return m.run(ctx, "") })
	}
	var group errgroup.Group
	group.SetLimit(simultaneous)
	var printing sync.Mutex
	for _, m := range all {
		group.Go(func() error {
			r := unchanged[m.test]()
			switch r.verdict {
			case survived:
				r = m.try(ctx)
			case killed:
				r.verdict = fails
			}
			if ctx.Err() != nil { // a test that was interrupted has noticed nothing
				return ctx.Err()
			}
			r.detail = m.test + "\n" + r.detail
			printing.Lock()
			defer printing.Unlock()
			if r.verdict != killed && r.verdict != skipped {
				notKilled++
			}
			r.print(out, m.name)
			return nil
		})
	}
	err = group.Wait()
	fmt.Fprintf(out, "%d mutants, %d not killed, %s\n", len(all), notKilled, time.Since(began).Round(time.Second))
	return notKilled, err
}
