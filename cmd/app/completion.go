package main

import (
	"fmt"
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

const bashScript = "complete -o default -o bashdefault -C %s app\n"

// completionScripts are format strings. Their argument is the program's path, quoted for the shell.
var completionScripts = map[string]string{
	"bash": bashScript,
	"zsh":  "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" + bashScript,
	"fish": `function __complete_app
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct); and set COMP_LINE "$COMP_LINE "
    %s
end
complete -f -c app -a "(__complete_app)"
`,
}

func (c *completionCommand) Run(std streams) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if strings.Contains(program, "go-build") {
		return usageErrorf("completion needs a program that stays, and go run removes its own: go build -o app ./cmd/app && ./app completion %s",
			c.Shell)
	}
	_, err = fmt.Fprint(std.out, completionScript(c.Shell, program))
	return err
}

func completionScript(shell, program string) string {
	word := shellQuote(program)
	if shell != "fish" { // bash and zsh evaluate the word twice
		word = shellQuote(word)
	}
	return fmt.Sprintf(completionScripts[shell], word)
}

// shellQuote quotes text as one word of a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

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
