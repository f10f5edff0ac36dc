// Command kubernetes sends load to the lab in a Kubernetes of three nodes, kills a node during a burst, judges, and writes the tables of
// docs/kubernetes.md. deploy/kubernetes/engine/run starts it, in namespaces that end with it.
//
//	kubernetes run NAME DIR   starts a cluster, runs a topology in it or the class, and prints the result as JSON
//	kubernetes page           writes the tables of the results that it reads
//	kubernetes show           prints them
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"locklab/internal/marked"
)

const (
	page    = "docs/kubernetes.md"
	cluster = "deploy/kubernetes/engine/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := do(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}

func do(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "run" {
		result, err := run(ctx, args[1], args[2])
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	if len(args) != 1 || args[0] != "page" && args[0] != "show" {
		return errors.New("deploy/kubernetes/engine/run starts this program: take `make kubernetes`")
	}
	results, err := read(os.Stdin)
	if err != nil {
		return err
	}
	commit, err := output(ctx, "git", "describe", "--always", "--dirty")
	if err != nil {
		return err
	}
	tables := tablesOf(results, time.Now(), strings.TrimSpace(commit))
	if args[0] == "page" {
		return marked.UpdateAll(page, tables)
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		fmt.Println(tables[name])
	}
	return nil
}

// read reads the results that runs have printed.
func read(from io.Reader) (all []Result, err error) {
	for decoder := json.NewDecoder(from); ; {
		var r Result
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
}

// output runs a command. Its error has what the command said.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, ended.Stderr)
	}
	return string(out), err
}
