package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// finding is what is wrong with one line of a file.
type finding struct {
	file string
	line int
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

// lint runs Vale over texts and returns its findings, by file and line. A column would be that of the copy, so there is none.
func lint(vale []string, texts map[string]string) ([]finding, error) {
	dir, err := os.MkdirTemp("", "prose-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, text := range texts {
		if err := write(filepath.Join(dir, name), text); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(vale[0], append(slices.Clone(vale[1:]), "--no-global", "--output=line", dir)...)
	var printed, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &failed
	if err := cmd.Run(); err != nil && printed.Len() == 0 { // with findings its exit code is 1
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(vale, " "), err, failed.String())
	}
	var findings []finding
	for line := range strings.Lines(printed.String()) {
		f, err := parse(strings.TrimPrefix(strings.TrimSpace(line), dir+string(filepath.Separator)))
		if err != nil {
			return nil, err
		}
		findings = append(findings, f)
	}
	slices.SortStableFunc(findings, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return findings, nil
}

func write(file, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
}

// parse reads a line of Vale: PATH:LINE:COLUMN:RULE:MESSAGE.
func parse(line string) (finding, error) {
	part := strings.SplitN(line, ":", 5)
	if len(part) < 5 {
		return finding{}, fmt.Errorf("not a finding of Vale: %s", line)
	}
	number, err := strconv.Atoi(part[1])
	if err != nil {
		return finding{}, fmt.Errorf("not a finding of Vale: %s", line)
	}
	return finding{origin(part[0]), number, part[4] + " (" + part[3] + ")"}, nil
}

// origin is the file that a copy was made of.
func origin(name string) string {
	for _, suffix := range []string{commentSuffix, helpSuffix, stringSuffix} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// unusedExceptions finds the phrases of a list that texts do not contain any more, and those without a comment above
// them that gives the reason.
func unusedExceptions(name, list, texts string) (findings []finding, err error) {
	reason := false
	for i, line := range strings.Split(list, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
			reason = line != ""
			continue
		case !reason:
			findings = append(findings, finding{name, i + 1, fmt.Sprintf("no comment above %q gives the reason", line)})
			continue
		}
		phrase, err := regexp.Compile(`(?i)\b(?:` + line + `)\b`)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		if !phrase.MatchString(texts) {
			findings = append(findings, finding{name, i + 1, fmt.Sprintf("no text contains %q any more: delete the exception", line)})
		}
	}
	return findings, nil
}
