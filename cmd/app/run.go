package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// What the program's exit status says.
const (
	exitOK           = 0
	exitRefuted      = 1   // a claim that must hold did not
	exitInconclusive = 2   // nothing was shown; run it again
	exitUsage        = 64  // a setting is wrong
	exitUnavailable  = 69  // something that is needed is missing or cannot be reached
	exitInternal     = 70  // a mistake of ours
	exitInterrupted  = 130 // by Ctrl-C or a signal
)

// exitError is an error that knows its exit status.
type exitError struct {
	code int
	err  error // nil: everything has been said
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// misuse says which setting is wrong, what it is and what is allowed.
func misuse(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

// unavailable says what is missing or cannot be reached.
func unavailable(err error) error { return exitError{exitUnavailable, err} }

// streams are where a command prints: results to out, everything else to err.
type streams struct{ out, err io.Writer }

type commands struct {
	Serve  serveCommand  `cmd:"" help:"Run one instance of the service."`
	Demo   demoCommand   `cmd:"" help:"Run two instances on parts that it starts itself, let 666 requests loose on every version, and judge what is left."`
	Up     upCommand     `cmd:"" help:"Bring docker-compose.yml up, or switch it to another topology, and say when it is ready."`
	Status statusCommand `cmd:"" help:"Say where the containers listen, or which is not ready and why."`
	Down   downCommand   `cmd:"" help:"Take the containers down; nothing is left."`
	Burst  burstCommand  `cmd:"" help:"Let the same requests loose on two instances that run already, such as those of docker compose."`
	Lab    labCommand    `cmd:"" help:"Break each lock on purpose, beside a control that holds, and judge what was seen: app lab list, app lab run L03."`
	Doctor doctorCommand `cmd:"" help:"Look at this machine before a class: what would go wrong, and what to do about it."`
	Health healthCommand `cmd:"" help:"Ask an instance whether it is ready."`

	Version kong.VersionFlag `env:"-" help:"Print what this program was built from."`
}

// run is the program, without the process around it. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := execute(ctx, args, streams{stdout, stderr})
	if err == nil {
		return exitOK
	}
	code := exitInternal
	if e := (exitError{}); errors.As(err, &e) {
		if code = e.code; e.err == nil {
			return code
		}
	}
	// Joined errors have a line each; one sentence is easier to find in a log.
	fmt.Fprintf(stderr, "app: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	return code
}

func execute(ctx context.Context, args []string, std streams) error {
	helped := false
	parser, err := kong.New(&commands{},
		kong.Name("app"),
		kong.Description("Locklab shows what a distributed lock does, under load and under faults."),
		kong.DefaultEnvars("LAB"),
		kong.Vars{"version": build()},
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { helped = true }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(durations)),
	)
	if err != nil {
		return err
	}
	command, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err != nil {
		return misuse("%w; see app --help", err)
	}
	return command.Run()
}

// durations reads a duration, and says what one looks like.
func durations(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(fmt.Sprint(token.Value))
	if err != nil {
		return fmt.Errorf("%q is no duration; write a number with its unit, such as 500ms or 30s", token.Value)
	}
	target.SetInt(int64(d))
	return nil
}
