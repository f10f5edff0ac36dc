// Command app is the whole lab in one program: an instance of the service, a demo that runs two of them, and the experiments.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9/logging"

	"locklab/internal/lists"
	"locklab/lab"
	"locklab/lab/doctor"
	"locklab/lab/report/terminal"
	"locklab/lab/servers"
	"locklab/versions"
)

func main() {
	servers.Reexec() // does not return in a process that a stack started from this program
	defer exitOnWrongLesson()
	silenceDrivers()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// exitOnWrongLesson tells somebody who has just written a lesson what is wrong with it, without the goroutines.
func exitOnWrongLesson() {
	switch found := recover().(type) {
	case nil:
	case lab.WrongLesson:
		fmt.Fprintln(os.Stderr, "app:", found)
		os.Exit(exitInternal)
	default:
		panic(found)
	}
}

// silenceDrivers drops the messages of the drivers, which have no level: servers refuse connections while they start, and experiments break
// servers on purpose. What fails returns an error as well. A driver has one logger per process and reads it without a lock.
func silenceDrivers() {
	logging.Disable()
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // fails only for nil
}

// Exit codes.
const (
	exitOK           = 0
	exitUnexpected   = 1   // a result contradicts the claim, or app doctor found a problem
	exitInconclusive = 2   // the run shows nothing
	exitUsage        = 64  // wrong usage
	exitUnavailable  = 69  // a program or server is missing or out of reach
	exitInternal     = 70  // a bug
	exitInterrupted  = 130 // Ctrl-C or a signal
)

type exitError struct {
	code int
	err  error // nil if there is nothing to print
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usageErrorf returns an error with exit code 64. The message names the setting, its value, and what is allowed.
func usageErrorf(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

// unavailable gives err the exit code 69.
func unavailable(err error) error { return exitError{exitUnavailable, err} }

// validateRange checks that the value of a flag is from least to most.
func validateRange[T cmp.Ordered](flag string, value, least, most T) error {
	if value < least || value > most {
		return usageErrorf("%s is %v; must be from %v to %v", flag, value, least, most)
	}
	return nil
}

// commandError returns the error of a command that was interrupted or that failed with err, or nil. note tells the user what an
// interruption means for the result.
func commandError(ctx context.Context, err error, note string) error {
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: " + note)}
	case err != nil:
		return unavailable(err)
	}
	return nil
}

// verdictError returns an error with the exit code of a verdict, or nil if the run went as predicted. An empty reason prints nothing:
// use it if the output has the reason already.
func verdictError(v lab.Verdict, reason string) error {
	if v == lab.AsExpected {
		return nil
	}
	exit := exitError{code: exitInconclusive}
	if v == lab.Unexpected {
		exit.code = exitUnexpected
	}
	if reason != "" {
		exit.err = fmt.Errorf("%s: %s", v, reason)
	}
	return exit
}

// streams are the outputs of a command: results go to out, everything else to err.
type streams struct{ out, err io.Writer }

// printResult prints a result as JSON or as text.
func printResult[T any](s streams, asJSON bool, result T, text func(T, terminal.Screen) string) error {
	if asJSON {
		return s.json(result)
	}
	_, err := fmt.Fprint(s.out, text(result, screen(s.out)))
	return err
}

// say prints a message that does not belong to the result.
func (s streams) say(message string) { fmt.Fprintln(s.err, message) }

func (s streams) json(result any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

type commands struct {
	Serve  serveCommand  `cmd:"" help:"Run one instance of the service."`
	Demo   demoCommand   `cmd:"" help:"Start two instances and their servers, send 666 simultaneous requests to each version, and judge the results."`
	Up     upCommand     `cmd:"" help:"Start the containers of docker-compose.yml, or switch their Redis topology, and wait until they are ready."`
	Status statusCommand `cmd:"" help:"Show where the containers listen, or why they are not ready."`
	Down   downCommand   `cmd:"" help:"Remove the containers and all their data."`
	Burst  burstCommand  `cmd:"" help:"Send the requests of the demo to running instances, such as those of docker compose, with this program, k6 or JMeter, and judge the results."`
	Lab    labCommand    `cmd:"" help:"Run experiments that break each lock on purpose, next to a control, and judge the results."`
	Doctor doctorCommand `cmd:"" help:"Check this machine before a class and suggest a fix for each problem."`
	Health healthCommand `cmd:"" help:"Check whether an instance is ready."`

	Completion completionCommand `cmd:"" help:"Print a completion script for your shell, as in: eval \"$(./app completion bash)\"."`

	Version kong.VersionFlag `env:"-" help:"Print the version, commit and commit date."`
}

// run runs the program in this process and returns its exit code.
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
	// errors.Join separates errors by newlines; print them as one line.
	fmt.Fprintf(stderr, "app: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	return code
}

func execute(ctx context.Context, args []string, std streams) error {
	exited := false // after help, the version, or completions
	parser, err := newParser(ctx, std, func(int) { exited = true })
	if err != nil {
		return err
	}
	if handleCompletion(parser); exited {
		return nil
	}
	warnUnknownVariables(std.err, parser.Model.Node)
	command, err := parser.Parse(args)
	if exited {
		return nil
	}
	if err != nil {
		return usageErrorf("%w; see app --help", withAllCommands(err))
	}
	return command.Run()
}

// withAllCommands names each command in an error about a missing one. Kong names five.
func withAllCommands(err error) error {
	wrong := new(kong.ParseError)
	if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "expected one of") {
		return err
	}
	var names []string
	for _, child := range wrong.Context.Path[len(wrong.Context.Path)-1].Node().Children {
		names = append(names, child.Name)
	}
	return fmt.Errorf("a command is missing: %s", listed(names))
}

// newParser returns the parser of the command line. It calls exit after it has printed help, the version, or completions.
func newParser(ctx context.Context, std streams, exit func(int)) (*kong.Kong, error) {
	return kong.New(&commands{Serve: serveCommand{Addresses: newAddressFlags()}},
		kong.Name("app"),
		kong.Description("Locklab runs distributed locks under load and breaks them on purpose."),
		kong.DefaultEnvars("LAB"),
		kong.Vars{
			"version": version(), "checks": strings.Join(doctor.Names(), ", "),
			"versions": strings.Join(versions.DefaultNames(), ","), "allVersions": strings.Join(versions.Names(), ","),
		},
		backendVars(),
		kong.ValueFormatter(formatHelp),
		kong.Writers(std.out, std.err),
		kong.Exit(exit),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
		lists.Trimmed(),
	)
}

// formatHelp formats the help of a flag or argument. It adds the default, unless the text names it, and the variable.
func formatHelp(value *kong.Value) string {
	shown := *value
	if value.Default != "" && !strings.Contains(value.Help, "(default: ") {
		shown.Help = fmt.Sprintf("%s (default: %s).", strings.TrimSuffix(value.Help, "."), value.Default)
	}
	return kong.DefaultHelpValueFormatter(&shown)
}
