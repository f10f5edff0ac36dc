// Command ours is a lock of the lab as a program for app lab try: ours v3, up to ours v8. Every setting is the lab's default.
package main

import (
	"fmt"
	"os"

	"locklab/lab/clients"
	"locklab/versions"
)

func main() {
	name := "v3"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	v, known := versions.Find(name)
	if !known {
		fmt.Fprintf(os.Stderr, "there is no version %q; the lab's locks are v3 to v8\n", name)
		os.Exit(64)
	}
	if err := (clients.Lock{Strategy: v.Strategy}).Serve(os.Stdin, os.Stdout, "locklab "+v.Name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
