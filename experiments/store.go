package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/history"
)

// The files of a saved run.
const (
	RunFile     = "run.json"
	historyFile = "history.jsonl"
	verdictFile = "verdict.json"
	ReportFile  = "report.html" // written by whoever has a report
	latest      = "latest"
)

// room is what [Probe] wants to be free: twice what the runs of a whole lab take, which is 15 MB.
const room = 32 << 20

// Probe finds out whether runs can be saved below store, before there is one: a disk that is full, a folder that
// cannot be written.
func Probe(store string) error {
	if err := os.MkdirAll(store, 0o755); err != nil {
		return fmt.Errorf("runs cannot be saved in %s: %w", store, err)
	}
	file, err := os.CreateTemp(store, ".probe-")
	if err != nil {
		return fmt.Errorf("runs cannot be saved in %s: %w", store, err)
	}
	for left, part := room, make([]byte, 1<<20); left > 0 && err == nil; left -= len(part) {
		_, err = file.Write(part)
	}
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return fmt.Errorf("runs cannot be saved in %s: %w", store, err)
	}
	return nil
}

// Save writes r and its judgement below store, in <id>/<time>, and lets store/<id>/latest point there, unless r was interrupted
// and a run that was not is there already. It returns the run's directory. The history is written first: a run without it is
// none, and a history without a run can be read.
func Save(store string, r Record, j Judgement) (dir string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the run: %w", err)
		}
	}()
	if dir, err = newDir(filepath.Join(store, r.Experiment), r.Began.UTC().Format("20060102T150405.000Z")); err != nil {
		return "", err
	}
	file, err := os.Create(filepath.Join(dir, historyFile))
	if err != nil {
		return dir, err
	}
	if err := errors.Join(history.Encode(file, r.Events...), file.Close()); err != nil {
		return dir, err
	}
	if err := errors.Join(writeJSON(dir, RunFile, r), writeJSON(dir, verdictFile, j)); err != nil {
		return dir, err
	}
	parent, name := filepath.Split(dir)
	if r.Interrupted && complete(filepath.Join(parent, latest)) {
		return dir, nil
	}
	return dir, point(parent, name)
}

// complete reports whether there is a run in dir that came to its end.
func complete(dir string) bool {
	r, err := Load(dir)
	return err == nil && !r.Interrupted
}

// newDir makes a directory that nobody has yet: two runs may begin in the same millisecond.
func newDir(parent, name string) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	dir := filepath.Join(parent, name)
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
	}
}

// point makes the newest run's link lead to name, at one stroke. The link that it makes first is named after the run,
// which nobody else has.
func point(parent, name string) error {
	next := filepath.Join(parent, latest+"."+name)
	if err := os.Symlink(name, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(parent, latest)); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

func writeJSON(dir, name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o644)
}
