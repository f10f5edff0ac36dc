package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"locklab/experiments"
	"locklab/experiments/claims"
)

// completionCommand prints the code with which a shell asks this program how a line may go on.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: bash, zsh or fish."`
}

const bashCode = "complete -o default -o bashdefault -C %s app\n"

// codes are formats for the program's path, as a word of the shell.
var codes = map[string]string{
	"bash": bashCode,
	"zsh":  "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" + bashCode,
	"fish": `function __complete_app
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct); and set COMP_LINE "$COMP_LINE "
    %s
end
complete -f -c app -a "(__complete_app)"
`,
}

// Run prints it.
func (c *completionCommand) Run(std streams) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if strings.Contains(program, "go-build") {
		return misuse("go run removes its program, so no shell can ask it: go build -o app ./cmd/app && ./app completion %s", c.Shell)
	}
	_, err = fmt.Fprint(std.out, completionCode(c.Shell, program))
	return err
}

func completionCode(shell, program string) string {
	word := quoted(program)
	if shell != "fish" { // the others evaluate the word once more
		word = quoted(word)
	}
	return fmt.Sprintf(codes[shell], word)
}

// quoted is one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// completing answers a shell that has set COMP_LINE, and then calls the parser's exit: the line may go on with these words. Otherwise it
// does nothing.
func completing(parser *kong.Kong) {
	kongcompletion.Register(parser, kongcompletion.WithPredictor("experiment", complete.PredictFunc(numbers)))
}

// numbers are the short ids of all experiments.
func numbers(complete.Args) (all []string) {
	for _, e := range claims.All() {
		all = append(all, experiments.Number(e.ID))
	}
	return all
}
