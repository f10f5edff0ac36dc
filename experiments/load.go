package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"locklab/experiments/terminal"
	"locklab/history"
)

// largest is how many bytes a file of a saved run may have.
const largest = 256 << 20

// Load reads a saved run. An error says what is wrong with it; then nothing can be concluded.
func Load(dir string) (r Record, err error) {
	file, err := open(dir, RunFile)
	if err != nil {
		return r, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return r, fmt.Errorf("%s cannot be read: %w", RunFile, err)
	}
	if !json.Valid(text) {
		return r, fmt.Errorf("%s is damaged or cut short: it is no JSON", RunFile)
	}
	var head struct {
		Format     *int
		Experiment string
	}
	err = json.Unmarshal(text, &head)
	switch {
	case err != nil || head.Format == nil || head.Experiment == "":
		return r, fmt.Errorf("%s is not what app lab run writes", RunFile)
	case *head.Format > Format:
		return r, fmt.Errorf("%s has the format %d, and this program reads %d: judge it with the program that wrote it",
			RunFile, *head.Format, Format)
	case *head.Format < Format:
		r.Experiment = head.Experiment
		return r, fmt.Errorf("%s has the old format %d, and this program reads %d: run the experiment again with app lab run %s",
			RunFile, *head.Format, Format, terminal.Printable(head.Experiment))
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s is damaged: %w", RunFile, err)
	}
	return r, r.load(dir)
}

// load reads the history of r, as much of it as can be read.
func (r *Record) load(dir string) error {
	file, err := open(dir, historyFile)
	if err != nil {
		return err
	}
	defer file.Close()
	if r.Events, err = history.Decode(file); err != nil {
		return fmt.Errorf("%s is damaged or cut short: %w", historyFile, err)
	}
	if len(r.Events) != r.Count {
		return fmt.Errorf("%s has %d events, and should have %d", historyFile, len(r.Events), r.Count)
	}
	return nil
}

// open opens a file of a saved run. It refuses links and special files: a store may come from somebody else.
func open(dir, name string) (*os.File, error) {
	info, err := os.Lstat(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing: the run was not saved to its end", name)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a link; a saved run has its files itself", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	case info.Size() > largest:
		return nil, fmt.Errorf("%s has %d bytes, and no run has more than %d", name, info.Size(), largest)
	}
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	return file, nil
}

// Saved is a saved run, judged again.
type Saved struct {
	Dir        string
	Experiment Experiment // the zero value when this program does not know it
	Record     Record
	Judgement  Judgement
}

// Rejudge judges a saved run from its files alone. find returns the experiment with an id. Anything wrong with the files
// makes the judgement inconclusive, with the reason in it.
func Rejudge(dir string, find func(id string) (Experiment, error)) (s Saved) {
	s = Saved{Dir: dir}
	inconclusive := func(why string) Saved {
		s.Judgement = Judgement{Experiment: s.Record.Experiment, Why: why, Void: true}
		return s
	}
	if filepath.Base(dir) == latest && !isRun(dir) {
		return inconclusive("the link to its newest run is missing or leads nowhere; name one of the folders beside it")
	}
	var damage error
	s.Record, damage = Load(dir)
	if e, err := find(s.Record.Experiment); err == nil && e.ID == s.Record.Experiment {
		s.Experiment = e
	}
	switch {
	case damage != nil:
		return inconclusive(damage.Error())
	case s.Experiment.ID == "":
		return inconclusive(fmt.Sprintf("there is no experiment %.60q here", s.Record.Experiment))
	}
	s.Judgement = s.Experiment.Judge(s.Record)
	return s
}

// Runs lists the saved runs that path names: path itself, the newest of an experiment, or the newest of each experiment of a
// store. It is empty when path is none of these. Where an experiment has no newest run, [Rejudge] says so.
func Runs(path string) (runs []string) {
	if isRun(path) {
		return []string{path}
	}
	if newest := filepath.Join(path, latest); isRun(newest) {
		return []string{newest}
	}
	for _, name := range names(path) {
		if dir := filepath.Join(path, name); hasRuns(dir) {
			runs = append(runs, filepath.Join(dir, latest))
		}
	}
	if len(runs) == 0 && hasRuns(path) {
		return []string{filepath.Join(path, latest)}
	}
	return runs
}

// hasRuns reports whether dir is an experiment's: it has runs, or a link to its newest run.
func hasRuns(dir string) bool {
	return has(dir, latest) || slices.ContainsFunc(names(dir), func(name string) bool { return isRun(filepath.Join(dir, name)) })
}

// names are those of the entries of dir.
func names(dir string) (all []string) {
	entries, _ := os.ReadDir(dir) // a folder that cannot be read has no runs
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func isRun(dir string) bool { return has(dir, RunFile) || has(dir, historyFile) }

// IsRun reports whether the run.json in dir is that of a saved run. A load tool's summary may have that name, too, but then
// there is no history beside it.
func IsRun(dir string) bool { return has(dir, RunFile) && has(dir, historyFile) }

func has(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
