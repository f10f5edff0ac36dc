// Command readme runs the demo and writes its output into README.md, between two markers.
package main

import (
	"fmt"
	"os"
	"os/exec"

	"locklab/internal/marked"
)

func main() {
	if err := update(); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func update() error {
	demo := exec.Command("go", "run", "./cmd/app", "demo")
	demo.Stderr = os.Stderr
	out, err := demo.Output()
	if err != nil {
		return fmt.Errorf("the demo: %w", err)
	}
	return marked.Update("README.md", "demo", "```text\n"+string(out)+"```\n")
}
