// Command app is the lab in one program: an instance of the service, the demo that runs two, and the experiments.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"locklab/experiments"
	"locklab/internal/doctor"
	"locklab/internal/lists"
	"locklab/report/terminal"
	"locklab/stack"
	"locklab/versions"
)

func main() {
	stack.Reexec() // does not return in a process that a stack started from this program
	driverLog.install()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The program's exit status.
const (
	exitOK           = 0
	exitUnexpected   = 1   // a result was unexpected
	exitInconclusive = 2   // nothing was shown
	exitUsage        = 64  // a setting is wrong
	exitUnavailable  = 69  // something that the command needs is missing or cannot be reached
	exitInternal     = 70  // a bug
	exitInterrupted  = 130 // by Ctrl-C or a signal
)

type exitError struct {
	code int
	err  error // nil: there is nothing to print
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// misuse is the error of a wrong setting: it names the setting, its value and what is allowed.
func misuse(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

func unavailable(err error) error { return exitError{exitUnavailable, err} }

func within[T cmp.Ordered](flag string, value, least, most T) error {
	if value < least || value > most {
		return misuse("%s is %v; allowed is from %v to %v", flag, value, least, most)
	}
	return nil
}

// stopped is the error of a command that did not come to its end: it was interrupted, or failed with err. Otherwise it is nil. left says
// what an interruption means for the user.
func stopped(ctx context.Context, err error, left string) error {
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: " + left)}
	case err != nil:
		return unavailable(err)
	}
	return nil
}

// verdictExit is the program's exit status for a verdict. Without why there is nothing to print: the reasons have been printed.
func verdictExit(v experiments.Verdict, why string) error {
	if v == experiments.AsExpected {
		return nil
	}
	exit := exitError{code: exitInconclusive}
	if v == experiments.Unexpected {
		exit.code = exitUnexpected
	}
	if why != "" {
		exit.err = fmt.Errorf("%s: %s", v, why)
	}
	return exit
}

// streams receive what a command prints: results go to out, everything else to err.
type streams struct{ out, err io.Writer }

// printed prints a result: as JSON for programs, or as the text for people.
func printed[T any](s streams, asJSON bool, result T, text func(T, terminal.Screen) string) error {
	if asJSON {
		return s.json(result)
	}
	_, err := fmt.Fprint(s.out, text(result, screen(s.out)))
	return err
}

// say writes a sentence about what is done, beside the result.
func (s streams) say(what string) { fmt.Fprintln(s.err, what) }

func (s streams) json(result any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

type commands struct {
	Serve  serveCommand  `cmd:"" help:"Run an instance of the service."`
	Demo   demoCommand   `cmd:"" help:"Start two instances with their servers, send 666 simultaneous requests to every version, and judge the result."`
	Up     upCommand     `cmd:"" help:"Start the containers of docker-compose.yml, or switch their topology, and wait until they are ready."`
	Status statusCommand `cmd:"" help:"Show where the containers listen, or which of them is not ready and why."`
	Down   downCommand   `cmd:"" help:"Remove the containers and everything they stored."`
	Burst  burstCommand  `cmd:"" help:"Send the requests of the demo to two instances that run already, such as those of docker compose."`
	K6     k6Command     `cmd:"" name:"k6" help:"Send a burst with k6 to the lab of this checkout, and judge what it wrote: app k6 [flags] pview -e VERSION=v1. Another address: -e BASE_URL=http://127.0.0.1:8000."`
	Jmeter jmeterCommand `cmd:"" help:"Send a burst with JMeter to the lab of this checkout, and judge what it wrote: app jmeter [flags] pview -Jversion=v1. Another address: -Jhost= and -Jport=."`
	Lab    labCommand    `cmd:"" help:"Run experiments: break each lock on purpose, beside a control, and judge the result (app lab list, app lab run L03)."`
	Doctor doctorCommand `cmd:"" help:"Check this machine before a class, and say what to do about each problem."`
	Health healthCommand `cmd:"" help:"Ask an instance whether it is ready."`

	Completion completionCommand `cmd:"" help:"Print the code that lets a shell complete commands, flags and experiments: eval \"$(./app completion bash)\"."`

	Version kong.VersionFlag `env:"-" help:"Print the version, the commit and its date."`
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
	// Joined errors have a line each; a log line has one sentence.
	fmt.Fprintf(stderr, "app: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	return code
}

func execute(ctx context.Context, args []string, std streams) error {
	helped := false
	parser, err := newParser(ctx, std, func(int) { helped = true })
	if err != nil {
		return err
	}
	if completing(parser); helped {
		return nil
	}
	flags := flagsOf(parser.Model.Node)
	if args, err = checkedArguments(args, flags); err != nil {
		return err
	}
	unknownVariables(std.err, flags)
	command, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err != nil {
		return misuse("%w; see app --help", err)
	}
	return command.Run()
}

// newParser reads the command line. It calls exit when that asked for help, the version or a completion.
func newParser(ctx context.Context, std streams, exit func(int)) (*kong.Kong, error) {
	return kong.New(&commands{},
		kong.Name("app"),
		kong.Description("Locklab shows how distributed locks behave under load and under faults."),
		kong.DefaultEnvars("LAB"),
		kong.Vars{
			"version": version(), "checks": strings.Join(doctor.Names(), ", "),
			"versions": strings.Join(versions.Defaults(), ","), "allVersions": strings.Join(versions.Names(), ","),
		},
		kong.ValueFormatter(help),
		kong.Writers(std.out, std.err),
		kong.Exit(exit),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(durations)),
		lists.Trimmed(),
	)
}

// help is the help of a flag or an argument: with its default, unless its own text names that, and with its variable.
func help(value *kong.Value) string {
	shown := *value
	if value.Default != "" && !strings.Contains(value.Help, "(default: ") {
		shown.Help = fmt.Sprintf("%s (default: %s).", strings.TrimSuffix(value.Help, "."), value.Default)
	}
	return kong.DefaultHelpValueFormatter(&shown)
}

// durations parses a duration; its error shows what one looks like.
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
