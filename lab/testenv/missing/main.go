// Command missing prints which real servers the tests do not use because they are missing, and how to get them. It fails when LAB_REQUIRE
// names one of them, or a server that no test uses.
//
// `missing debian` prints the packages of Debian that `make test` uses, missing or not, `missing brew` those of Homebrew, and `missing
// names` what LAB_REQUIRE calls the programs.
package main

import (
	"fmt"
	"os"
	"strings"

	"locklab/lab/testenv"
)

func main() {
	if len(os.Args) > 1 {
		list(os.Args[1])
		return
	}
	missing, failed := 0, false
	for _, need := range testenv.All() {
		unused := need.In != "" && !need.In.Runs() && !need.Required()
		if unused || need.Met() {
			continue
		}
		missing++
		if need.Required() {
			failed = true
			fmt.Println("required by LAB_REQUIRE:", need.How())
		} else {
			fmt.Println("not tested:", need.How())
		}
	}
	if missing == 0 {
		fmt.Println("everything that the tests can use is there")
	}
	for _, name := range testenv.Unknown() {
		failed = true
		fmt.Printf("LAB_REQUIRE has %q; it is \"all\", or a list of", name)
		for _, need := range testenv.All() {
			fmt.Print(" ", need.Name)
		}
		fmt.Println()
	}
	if failed {
		os.Exit(1)
	}
}

// list prints a property of each need of `make test`.
func list(property string) {
	for _, need := range testenv.All() {
		if need.In != "" || need.Debian == "" {
			continue
		}
		switch property {
		case "debian":
			fmt.Println(need.Debian)
		case "brew":
			if need.Homebrew != "" && !strings.HasPrefix(need.Homebrew, "--cask") {
				fmt.Println(need.Homebrew)
			}
		case "names":
			fmt.Println(need.Name)
		default:
			fmt.Fprintf(os.Stderr, "unknown word %q; it is debian, brew or names\n", property)
			os.Exit(64)
		}
	}
}
