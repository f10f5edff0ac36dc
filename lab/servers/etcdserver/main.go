// Command etcdserver is etcd: package servers builds it where no etcd is on the PATH. It is a module of its own, because the lab's program
// must not carry the server. It takes etcd's flags.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
