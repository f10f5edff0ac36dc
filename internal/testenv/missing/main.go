// Command missing prints which real servers the tests did not use because they are missing, and how to get them. With LAB_REQUIRE=all a
// missing server is a failure.
package main

import (
	"fmt"
	"os"

	"locklab/internal/testenv"
)

func main() {
	missing := 0
	for _, need := range testenv.All() {
		if !need.Met() {
			missing++
			fmt.Println("not tested:", need.How())
		}
	}
	if missing == 0 {
		fmt.Println("everything that the tests can use was there")
	}
	if missing > 0 && testenv.RequireAll() {
		os.Exit(1)
	}
}
