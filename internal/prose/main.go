// Command prose checks the language of the repository with Vale: pages, templates, help texts, comments, and what
// programs and tests say in strings. `make prose` runs it.
//
// It copies what Vale can read into a temporary directory. Of a Go file, a script and the Makefile it writes the prose
// alone, as Markdown, each text on the line of its origin. Vale's own parser joins the comments of adjacent lines to
// one sentence, and does not see a help text in a struct tag. The rules are in docs/style.
package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// exceptionsFile lists the phrases in which a rule is wrong. Vale reads it, too.
const exceptionsFile = "docs/style/config/vocabularies/Locklab/accept.txt"

// Exit codes, as those of the program.
const (
	exitFindings    = 1
	exitUsage       = 64
	exitUnavailable = 69
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: prose VALE [ARGUMENT...], the command that runs Vale; in the root of the checkout")
		os.Exit(exitUsage)
	}
	findings, err := repository(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(exitUnavailable)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		fmt.Fprintf(os.Stderr, "prose: %d findings; docs/style/README.md explains the rules and their exceptions\n", len(findings))
		os.Exit(exitFindings)
	}
}

// repository returns what is wrong with the files that git knows, and with the list of exceptions.
func repository(vale []string) ([]finding, error) {
	tracked, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	texts, err := read(".", strings.Split(strings.TrimSuffix(string(tracked), "\x00"), "\x00"))
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(exceptionsFile)
	if err != nil {
		return nil, err
	}
	unused, err := unusedExceptions(exceptionsFile, string(list), strings.Join(slices.Collect(maps.Values(texts)), "\n"))
	if err != nil {
		return nil, err
	}
	findings, err := lint(vale, texts)
	return append(findings, unused...), err
}

// read returns the prose of the files below root, by the name under which Vale gets it. A file that is not there was
// deleted, and that is not committed yet.
func read(root string, files []string) (map[string]string, error) {
	all := make(map[string]string)
	for _, file := range files {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		maps.Copy(all, texts(file, source))
	}
	return all, nil
}
