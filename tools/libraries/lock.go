package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"locklab/lab/scorecard"
)

const (
	table  = "examples/locks/libraries.json" // how each library is used, with which settings, and what its documentation says
	folder = "examples/locks/scorecards"
	app    = "store/locks/app"
	itself = "the lab"
	most   = 3 // times that an inconclusive row is tried: a busy machine may be the cause
)

// Library is where a lock is from.
type Library struct {
	Title   string   `json:"library"` // for people
	Package string   `json:"package"` // as its manifest has it; empty: this repository
	Normal  string   `json:"normal"`  // how its README tells to use it, and its defaults
	Like    []string `json:"like"`    // titles whose limits it has, too
	Limits  []Limit  `json:"limits"`
	Locks   []Lock   `json:"locks"`
}

// Limit is what the documentation of a library says of some rows.
type Limit struct {
	Rows string `json:"rows"` // such as T04 T06
	Says string `json:"says"`
	URL  string `json:"url"`
}

// Lock is one way to use a library. Its name is that of `make library`, and of its scorecard.
type Lock struct {
	Name     string   `json:"name"`
	Language string   `json:"language"` // of builds
	Command  string   `json:"command"`  // after `app lab try --`
	Settings string   `json:"settings"` // that are not the library's defaults, and why
	Without  string   `json:"without"`  // rows whose documented limit this way does not have
	Of       *Library `json:"-"`
}

func readTable() (locks []Lock, err error) {
	text, err := os.ReadFile(table)
	if err != nil {
		return nil, fmt.Errorf("it runs in the root of the repository: %w", err)
	}
	var all []*Library
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	for _, l := range all {
		for _, title := range l.Like {
			i := slices.IndexFunc(all, func(other *Library) bool { return other.Title == title })
			if i < 0 {
				return nil, fmt.Errorf("%s: %s is like %q, which is no library there", table, l.Title, title)
			}
			l.Limits = slices.Concat(l.Limits, all[i].Limits)
		}
		for _, lock := range l.Locks {
			lock.Of = l
			locks = append(locks, lock)
		}
	}
	return locks, nil
}

// limit is the first documented limit of a row, if there is one.
func (l Lock) limit(number string) (found Limit, documented bool) {
	i := slices.IndexFunc(l.Of.Limits, func(one Limit) bool { return strings.Contains(one.Rows, number) })
	if i < 0 || strings.Contains(l.Without, number) {
		return Limit{}, false
	}
	return l.Of.Limits[i], true
}

// builds are those of the adapters, by language. A build is one command, and its manifest has the versions of the libraries.
var builds = map[string]struct{ Command, Manifest string }{
	itself: {Command: `go build -ldflags "-X 'main.stamp=$(.ci/stamp)'" -o ` + app + " ./cmd/app"},
	"Go":   {"go -C examples/locks/go build -o ../../../store/locks/ ./...", "examples/locks/go/go.mod"},
	"Java": {"mvn -q -f examples/locks/java/pom.xml clean package", "examples/locks/java/pom.xml"},
	"Python": {
		"python3 -m venv store/locks/python && store/locks/python/bin/pip install -q -r examples/locks/python/requirements.txt",
		"examples/locks/python/requirements.txt",
	},
	"Node": {"npm ci --silent --prefix examples/locks/node", "examples/locks/node/package.json"},
}

// build builds the lab, and the adapters in the languages of the locks.
func build(ctx context.Context, locks []Lock) error {
	languages := []string{itself}
	for _, l := range locks {
		if !slices.Contains(languages, l.Language) {
			languages = append(languages, l.Language)
		}
	}
	for _, language := range languages {
		command := "mkdir -p store/locks && " + builds[language].Command
		if out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput(); err != nil {
			return fmt.Errorf("the adapters in %s cannot be built by %q: %w: %s", language, command, err, out)
		}
	}
	return nil
}

// version is that of the library, as the build has it. Of this repository it is empty.
func (l Lock) version() (string, error) {
	if l.Of.Package == "" {
		return "", nil
	}
	text, err := os.ReadFile(builds[l.Language].Manifest)
	if err != nil {
		return "", err
	}
	return versionIn(string(text), l.Of.Package)
}

// versionIn finds the version that stands behind the name of a package, as go.mod, a pom, requirements.txt or package.json have it.
func versionIn(manifest, name string) (string, error) {
	found := regexp.MustCompile(`(?m)(?:^|[\s"<])` + regexp.QuoteMeta(name) + `(?: v|>|==|": ")(\d[^\s"<]*)`).FindStringSubmatch(manifest)
	if found == nil {
		return "", fmt.Errorf("the manifest has no exact version of %s", name)
	}
	return found[1], nil
}

// program is a run of the lab on a lock, for all rows or some of them. At the end of ctx the lab is interrupted, so that it stops its
// servers.
func (l Lock) program(ctx context.Context, rows []string, flags ...string) *exec.Cmd {
	argv := append([]string{"lab", "try", "--name", l.Name}, flags...)
	if len(rows) > 0 {
		argv = append(argv, "--only", strings.Join(rows, ","))
	}
	c := exec.CommandContext(ctx, app, slices.Concat(argv, []string{"--"}, strings.Fields(l.Command))...)
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(os.Interrupt) }, 20*time.Second
	return c
}

// judged is an error of `app lab try` unless the lock was tried: then the scorecard says what it came to.
func judged(err error) error {
	const inconclusive = 2 // the largest exit status with a scorecard
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && ended.Exited() && ended.ExitCode() <= inconclusive {
		return nil
	}
	return err
}

// try runs `app lab try`.
func (l Lock) try(ctx context.Context, rows []string) (*scorecard.Scorecard, error) {
	var out, said bytes.Buffer
	c := l.program(ctx, rows, "--json")
	c.Stdout, c.Stderr = &out, &said
	if err := judged(c.Run()); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	card := new(scorecard.Scorecard)
	err := json.Unmarshal(out.Bytes(), card)
	if err == nil && card.Stopped != "" {
		err = errors.New(card.Stopped)
	}
	return card, err
}

// Record is what is saved of a lock.
type Record struct {
	Version string `json:"version,omitempty"` // of the library
	*scorecard.Scorecard
}

func (l Lock) file() string { return filepath.Join(folder, l.Name+".json") }

// saved reads the record of a lock. It has no scorecard when the lock was not tried yet.
func (l Lock) saved() (r Record, err error) {
	text, err := os.ReadFile(l.file())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// save tries a lock and saves its scorecard. With rows only these are tried, and the others are those of before. A row that is inconclusive
// is tried again.
func (l Lock) save(ctx context.Context, rows []string) error {
	r, err := l.saved()
	if err != nil {
		return err
	}
	if r.Scorecard == nil || len(rows) == 0 {
		r, rows = Record{}, nil
	}
	if r.Version, err = l.version(); err != nil {
		return err
	}
	for n := 0; n == 0 || n < most && len(rows) > 0; n++ {
		newer, err := l.try(ctx, rows)
		if err != nil {
			return err
		}
		if rows = nil; r.Scorecard == nil {
			r.Scorecard = newer
		} else {
			r.Take(newer)
		}
		for _, row := range newer.Rows {
			if row.State == scorecard.Inconclusive {
				rows = append(rows, row.ID)
			}
		}
	}
	return r.write(l.file())
}

// write leaves the variants out of rows that have no violation.
func (r Record) write(file string) error {
	r.Report = ""
	for i, row := range r.Rows {
		if row.State != scorecard.Violated {
			r.Rows[i].Variants = nil
		}
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".part", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}
