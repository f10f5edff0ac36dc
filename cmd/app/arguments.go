package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// flagsByName maps each flag name, such as --listen, to the flags of all commands that have it.
func flagsByName(model *kong.Node) map[string][]*kong.Flag {
	flags := make(map[string][]*kong.Flag)
	for _, node := range append(model.Leaves(false), model) {
		for _, group := range node.AllFlags(false) {
			for _, flag := range group {
				flags["--"+flag.Name] = append(flags["--"+flag.Name], flag)
			}
		}
	}
	return flags
}

var negativeNumber = regexp.MustCompile(`^-[0-9.]`)

// normalizeArguments joins a flag and its negative value into one argument, because kong would read the value as a short flag.
// It returns an error for an empty list, which kong would treat as a missing flag.
func normalizeArguments(args []string, flags map[string][]*kong.Flag) (all []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		known := flags[name]
		list := slices.ContainsFunc(known, func(f *kong.Flag) bool { return f.IsSlice() })
		if !given && i+1 < len(args) && !slices.ContainsFunc(known, func(f *kong.Flag) bool { return f.IsBool() }) {
			if list && args[i+1] == "" {
				given = true
			} else if known != nil && negativeNumber.MatchString(args[i+1]) {
				all = append(all, name+"="+args[i+1])
				i++
				continue
			}
		}
		if list && given && value == "" {
			return nil, usageErrorf("%s is empty: give it at least one value, or omit the flag", name)
		}
		all = append(all, args[i])
	}
	return all, nil
}

// otherVariables start with LAB_ but belong to no flag: the compose file and tests read them.
var otherVariables = []string{"LAB_NET", "LAB_PARTS", "LAB_REQUIRE", "LAB_SCREENSHOT", "LAB_SCREENSHOTS"}

// warnUnknownVariables names each LAB_ variable that no flag reads. It only warns, because the variable may belong to another program.
func warnUnknownVariables(to io.Writer, flags map[string][]*kong.Flag) {
	known := slices.Clone(otherVariables)
	for _, same := range flags {
		for _, flag := range same {
			known = append(known, flag.Envs...)
		}
	}
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "LAB_") && !slices.Contains(known, name) {
			fmt.Fprintf(to, "app: no flag reads %s; app COMMAND --help lists the variables\n", name)
		}
	}
}
