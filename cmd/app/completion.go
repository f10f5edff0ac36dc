package main

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"locklab/lab"
	"locklab/lab/claims"
)

// completionCommand prints the shell code that asks this program for completions.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell to print the code for: bash, zsh or fish."`
}

func (c *completionCommand) Run(parsed *kong.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if strings.Contains(program, "go-build") {
		return usageErrorf("completion needs a program that stays, and go run removes its own: go build -o app ./cmd/app && ./app completion %s",
			c.Shell)
	}
	return (&kongcompletion.Completion{Shell: c.Shell, Code: true}).Run(parsed)
}

// handleCompletion prints the completions and calls the parser's exit function if a shell asks for them by setting COMP_LINE.
func handleCompletion(parser *kong.Kong) {
	kongcompletion.Register(parser, kongcompletion.WithPredictor("experiment", complete.PredictFunc(experimentNumbers)))
}

// experimentNumbers returns the short ids of all experiments, such as L03.
func experimentNumbers(complete.Args) (all []string) {
	for _, e := range claims.All() {
		all = append(all, lab.Number(e.ID))
	}
	return all
}
