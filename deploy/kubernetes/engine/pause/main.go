// Command pause is the process of a pod's sandbox: it waits for a signal to end. There is no registry to pull Kubernetes' own from.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
}
