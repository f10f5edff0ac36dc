// Command missing prints which real servers the tests do not use because they are missing, and how to get them. It fails when LAB_REQUIRE
// names one of them, or a server that no test uses.
package main

import (
	"fmt"
	"os"

	"locklab/lab/testenv"
)

func main() {
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
