// Command ours is a lock of the lab as a program for app lab try: ours v3, or another version on a server. Every setting is the lab's
// default. With ours v3 sentinel, or ours v3 cluster, it is over Redis with failover.
package main

import (
	"fmt"
	"os"
	"strings"

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
		fmt.Fprintf(os.Stderr, "there is no version %q; there are %s\n", name, strings.Join(versions.Names(), ", "))
		os.Exit(64)
	}
	store := v.Strategy
	if len(os.Args) > 2 && v.Strategy == versions.NameRedis {
		store, name = os.Args[2], name+" "+os.Args[2]
	}
	if err := (clients.Lock{Strategy: store}).Serve(os.Stdin, os.Stdout, "locklab "+name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
