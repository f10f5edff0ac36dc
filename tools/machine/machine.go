// Package machine runs a cluster in namespaces of its own on this machine, and compares the machine before and after.
//
// What is NOT guaranteed: that nothing else is left. Only the kinds of things are compared that the caller names.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Kind is what a cluster could leave. A command of the shell lists it among other things, and the group of a pattern is its name. A command
// must not hide a failure, as a pipe does: a list that was not read must not look like an empty one.
type Kind struct {
	Name, Command string
	Pattern       *regexp.Regexp
	Own           bool // nothing else makes one: it is of another run
}

// Found are the names in what the command has printed.
func (k Kind) Found(printed string) (names []string) {
	for _, found := range k.Pattern.FindAllStringSubmatch(printed, -1) {
		names = append(names, found[1])
	}
	return names
}

// Existing is a command that lists the paths that are there. The shell expands them.
func Existing(paths string) string {
	return `for path in ` + paths + `; do [ ! -e "$path" ] || echo "$path"; done`
}

// State is what is on the machine, and settings of its kernel.
type State struct {
	kinds    []Kind
	left     map[string][]string // kind → names
	settings map[string]string   // file → value
}

// Look is the state of this machine now, of these kinds and of these files of settings. The error joins all that could not be read; then
// the state says nothing.
func Look(kinds []Kind, settings []string) (State, error) {
	s := State{kinds: kinds, left: map[string][]string{}, settings: map[string]string{}}
	var failed []error
	for _, kind := range kinds {
		out, err := Output(context.Background(), nil, "sh", "-c", kind.Command)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s cannot be listed: %w", kind.Name, err))
		}
		s.left[kind.Name] = kind.Found(out)
	}
	for _, file := range settings {
		value, err := os.ReadFile(file)
		switch {
		case err == nil:
			s.settings[file] = strings.TrimSpace(string(value))
		case !errors.Is(err, fs.ErrNotExist): // a kernel may lack a setting
			failed = append(failed, err)
		}
	}
	return s, errors.Join(failed...)
}

// run is what a killed run leaves in a file.
type run struct {
	Process  int
	Settings map[string]string // before it
}

// save writes the settings and this process into a file.
func (s State) save(file string) error {
	text, err := json.Marshal(run{os.Getpid(), s.settings})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// load reads a file of save. Without the file the run was killed before it changed a setting.
func load(file string) (r run, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return r, err
}

// ended is an error while the process of a run is there.
func ended(file string) error {
	r, err := load(file)
	if err != nil || r.Process == 0 {
		return err
	}
	process, err := os.FindProcess(r.Process)
	if err == nil && process.Signal(syscall.Signal(0)) == nil {
		err = fmt.Errorf("its process %d is there: end it, or remove the folder if it is another program", r.Process)
	}
	return err
}

// restore writes the settings back that a file of save has.
func restore(file string) error {
	r, err := load(file)
	return errors.Join(err, State{settings: r.Settings}.Restore())
}

// Restore writes the settings back that differ. The error joins those that could not be written.
func (s State) Restore() error {
	var failed []error
	for file, value := range s.settings {
		if now, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(now)) == value {
			continue
		}
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			failed = append(failed, fmt.Errorf("the setting %s is not %s again: %w", file, value, err))
		}
	}
	return errors.Join(failed...)
}

// Unchanged waits for half a minute until nothing is there that was not there before: the kernel ends namespaces a moment after their last
// process. The error names what is left, and each setting that has changed.
func (s State) Unchanged() error {
	var left []string
	for range 60 {
		now, err := Look(s.kinds, slices.Collect(maps.Keys(s.settings)))
		if err != nil {
			return err
		}
		if left = s.since(now); len(left) == 0 {
			return nil
		}
		time.Sleep(500 * time.Millisecond) // nothing tells when a namespace has ended
	}
	return fmt.Errorf("left on the machine: %s", strings.Join(left, ", "))
}

// since lists what is there now and was not there before, and the settings that have changed.
func (s State) since(now State) (left []string) {
	for _, kind := range s.kinds {
		for _, name := range now.left[kind.Name] {
			if !slices.Contains(s.left[kind.Name], name) {
				left = append(left, kind.Name+": "+name)
			}
		}
	}
	for name, value := range s.settings {
		if now.settings[name] != value {
			left = append(left, fmt.Sprintf("the setting %s: %s instead of %s", name, now.settings[name], value))
		}
	}
	return left
}

// isolate runs this program with these arguments in namespaces of its own for networks, mounts and processes. They end with it, and
// everything that it has started with them, also when this process is killed. env is added to the environment.
func isolate(ctx context.Context, env []string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the kernel takes the end of a thread that has started a process for the end of the parent
	defer runtime.UnlockOSThread()
	// The shell is the first process, which reaps those that containerd leaves to it.
	isolated := []string{
		"--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", "-c", `"$@"; exit $?`, "bash", self,
	}
	cmd := exec.CommandContext(ctx, "setpriv", append(isolated, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// Output runs a command, and returns what it printed. Its other output goes to told; with nil it is part of the error.
func Output(ctx context.Context, told io.Writer, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var said strings.Builder
	cmd.Stderr = &said
	if told != nil {
		cmd.Stderr = told
	}
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, said.String())
	}
	return string(out), nil
}
