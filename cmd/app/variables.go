package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// otherVariables start with LAB_ but belong to no flag: the compose file and tests read them.
var otherVariables = []string{"LAB_NET", "LAB_PARTS", "LAB_REQUIRE", "LAB_SCREENSHOT", "LAB_SCREENSHOTS"}

// flagVariables returns the variables that the flags of all commands read.
func flagVariables(model *kong.Node) (names []string) {
	for _, node := range append(model.Leaves(false), model) {
		for _, group := range node.AllFlags(false) {
			for _, flag := range group {
				names = append(names, flag.Envs...)
			}
		}
	}
	return names
}

// warnUnknownVariables names each LAB_ variable that no flag reads. It only warns, because the variable may belong to another program.
func warnUnknownVariables(to io.Writer, model *kong.Node) {
	known := append(flagVariables(model), otherVariables...)
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "LAB_") && !slices.Contains(known, name) {
			fmt.Fprintf(to, "app: no flag reads %s; app COMMAND --help lists the variables\n", name)
		}
	}
}
