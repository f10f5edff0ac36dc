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

// flagsOf are the flags of all commands, by name. Several commands may have a flag of the same name.
func flagsOf(model *kong.Node) map[string][]*kong.Flag {
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

var negative = regexp.MustCompile(`^-[0-9.]`)

// checkedArguments makes one word of a flag and its negative value, which kong takes for a short flag. An empty list is an error: kong
// takes it for a list that was not given.
func checkedArguments(args []string, flags map[string][]*kong.Flag) (all []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		known := flags[name]
		list := slices.ContainsFunc(known, func(f *kong.Flag) bool { return f.IsSlice() })
		if !given && i+1 < len(args) && !slices.ContainsFunc(known, func(f *kong.Flag) bool { return f.IsBool() }) {
			if list && args[i+1] == "" {
				given = true
			} else if known != nil && negative.MatchString(args[i+1]) {
				all = append(all, name+"="+args[i+1])
				i++
				continue
			}
		}
		if list && given && value == "" {
			return nil, misuse("%s is empty; name at least one, or leave the flag out", name)
		}
		all = append(all, args[i])
	}
	return all, nil
}

// others are the variables that begin as those of flags, and are read elsewhere: by the compose file and by tests.
var others = []string{"LAB_NET", "LAB_PARTS", "LAB_REQUIRE", "LAB_SCREENSHOT", "LAB_SCREENSHOTS"}

// unknownVariables says which variables of the environment look like those of a flag, and belong to none. They may be somebody else's, so
// they are no error.
func unknownVariables(to io.Writer, flags map[string][]*kong.Flag) {
	known := slices.Clone(others)
	for _, same := range flags {
		for _, flag := range same {
			known = append(known, flag.Envs...)
		}
	}
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "LAB_") && !slices.Contains(known, name) {
			fmt.Fprintf(to, "app: %s is set, and no flag has this variable; app COMMAND --help names them\n", name)
		}
	}
}
