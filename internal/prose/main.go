// Command prose checks the language of the repository with Vale: pages, templates, help texts, comments, and what
// programs and tests say in strings. `make prose` runs it.
//
// It copies what Vale can read into a temporary directory. Of a Go file, a script and the Makefile it writes the prose
// alone, as Markdown, each text on the line of its origin. Vale's own parser joins the comments of adjacent lines to
// one sentence, and does not see a help text in a struct tag. The rules are in docs/style.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

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
	tracked, err := exec.Command("git", "ls-files").Output()
	var findings []string
	if err == nil {
		findings, err = lint(os.Args[1:], ".", strings.Fields(string(tracked)))
	}
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

// found is a line of Vale: PATH:LINE:COLUMN:RULE:MESSAGE. The path and the column are those of the copy.
var found = regexp.MustCompile(`(?m)^([^:]+?)(?:` + commentSuffix + `|` + helpSuffix + `|` + stringSuffix + `)?:(\d+):\d+:([\w.]+):(.*)$`)

// lint runs Vale over the prose of files below root, and returns its findings, by file and line.
func lint(vale []string, root string, files []string) (findings []string, err error) {
	dir, err := os.MkdirTemp("", "prose-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, file := range files {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil && !os.IsNotExist(err) { // a file that is not there was deleted, and that is not committed yet
			return nil, err
		}
		for name, text := range texts(file, source) {
			copied := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(copied), 0o755), os.WriteFile(copied, []byte(text), 0o644)); err != nil {
				return nil, err
			}
		}
	}
	cmd := exec.Command(vale[0], append(vale[1:], "--no-global", "--output=line", dir)...)
	cmd.Stderr = new(strings.Builder)
	printed, err := cmd.Output()
	all := found.FindAllStringSubmatch(strings.ReplaceAll(string(printed), dir+string(filepath.Separator), ""), -1)
	if err != nil && len(all) == 0 { // with findings its exit code is 1
		return nil, fmt.Errorf("%s: %w: %s%s", strings.Join(vale, " "), err, printed, cmd.Stderr)
	}
	slices.SortStableFunc(all, func(a, b []string) int {
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(len(a[2]), len(b[2])), cmp.Compare(a[2], b[2]))
	})
	for _, f := range all {
		findings = append(findings, fmt.Sprintf("%s:%s: %s (%s)", f[1], f[2], f[4], f[3]))
	}
	return findings, nil
}
