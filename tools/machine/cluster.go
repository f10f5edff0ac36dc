package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	inside = "inside" // the first argument of the process in the namespaces
	clean  = "clean"  // the only argument of the command that removes what a killed run has left
	saved  = "result.json"
	before = "before.json" // the settings of the kernel, and the process of the run
)

// Cluster runs in namespaces of its own, once for each of several names, such as topologies.
type Cluster struct {
	Name     string    // of the command and of its folder
	Script   string    // with the argument clean, it removes control groups: they belong to no namespace; with check, it says what it lacks
	Programs []Program // that it starts
	Kinds    []Kind    // that it could leave
	Settings []string  // files of the kernel's settings that it changes

	// Inside runs one name in the namespaces. Files that all names share are in the folder that contains dir.
	Inside func(ctx context.Context, dir, name string) (result any, err error)
}

// Main is the command. It ends with 1 after an error, and Ctrl-C ends ctx. With the argument clean it removes what a killed run has left.
func (c Cluster) Main(run func(ctx context.Context, names []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == inside:
		err = c.runInside(ctx, args[1], args[2])
	case len(args) == 1 && args[0] == clean:
		err = c.clean(ctx)
	default:
		err = run(ctx, args)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
		os.Exit(1)
	}
}

func (c Cluster) runInside(ctx context.Context, dir, name string) error {
	result, err := c.Inside(ctx, dir, name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, saved), text, 0o600)
}

// Run runs the names one after the other, and checks after each that nothing of it is left on the machine. prepare writes what all of them
// share into a folder, and says what their environment has in addition. found is where the result of a name belongs: it is printed.
func (c Cluster) Run(
	ctx context.Context, names []string, prepare func(dir string) (env []string, err error), found func(name string) fmt.Stringer,
) (err error) {
	if err := Missing(c.Programs); err != nil {
		return err
	}
	now, err := Look(c.Kinds, c.Settings)
	if err := errors.Join(err, c.alone(now)); err != nil {
		return err
	}
	if _, err := Output(ctx, nil, c.Script, "check"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", c.folder())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := now.save(filepath.Join(dir, before)); err != nil {
		return err
	}
	env, err := prepare(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		result := found(name)
		if err := c.isolated(ctx, now, filepath.Join(dir, name), name, env, result); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprint(os.Stderr, result)
	}
	return nil
}

// alone refuses to begin beside another run, or on what a killed run has left. Nobody could say later what is left of which.
func (c Cluster) alone(now State) error {
	var there []string
	for _, kind := range c.Kinds {
		if kind.Own {
			there = append(there, now.left[kind.Name]...)
		}
	}
	folders, err := c.folders()
	if there = append(there, folders...); len(there) == 0 {
		return err
	}
	return fmt.Errorf("another run is under way, or one that was killed has left this: %s\nIf there is none, `make %s %s=clean` removes it",
		strings.Join(there, ", "), c.Name, strings.ToUpper(c.Name))
}

// folder is the pattern of the folder of a run.
func (c Cluster) folder() string { return "locklab-" + c.Name + "-*" }

func (c Cluster) folders() ([]string, error) {
	return filepath.Glob(filepath.Join(os.TempDir(), c.folder()))
}

// clean removes what a run has left that was killed: its control groups, its settings of the kernel, and its folder. It changes nothing
// while the process of a run is there.
func (c Cluster) clean(ctx context.Context) error {
	folders, err := c.folders()
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if err := ended(filepath.Join(dir, before)); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	if len(folders) == 0 {
		fmt.Fprintln(os.Stderr, "no run has left a folder: only control groups are removed, if there are any")
	}
	_, err = Output(ctx, nil, c.Script, "clean")
	for _, dir := range folders {
		err = errors.Join(err, restore(filepath.Join(dir, before)), os.RemoveAll(dir))
	}
	return err
}

// isolated runs one name, and decodes its result into found. Whatever happens, the machine is as it was before.
func (c Cluster) isolated(ctx context.Context, before State, dir, name string, env []string, found any) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ran := isolate(ctx, env, inside, dir, name)
	whatever := context.WithoutCancel(ctx)
	if logs := os.Getenv("LAB_KEEP_LOGS"); ran != nil && logs != "" {
		const keep = `mkdir -p "$1" && cd "$0" && find . -maxdepth 3 -type f -name '*.log' -exec cp --parents {} "$1" ';'` // of no container
		_, _ = Output(whatever, nil, "sh", "-c", keep, dir, logs)
	}
	text, read := os.ReadFile(filepath.Join(dir, saved))
	_, cleaned := Output(whatever, nil, c.Script, "clean")
	if err := errors.Join(ran, cleaned, before.Restore(), os.RemoveAll(dir), before.Unchanged(), read); err != nil {
		return err
	}
	return json.Unmarshal(text, found)
}
