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
	ReportFile  = "report.html" // written by package report
	latest      = "latest"
)

// requiredSpace is what [Probe] requires to be free: twice what the runs of a whole lab take, which is 15 MB.
const requiredSpace = 32 << 20

// Probe checks whether runs can be saved below store before there is one: a full disk or a read-only folder is an error.
func Probe(store string) error {
	if err := os.MkdirAll(store, 0o755); err != nil {
		return fmt.Errorf("runs cannot be saved in %s: %w", store, err)
	}
	file, err := os.CreateTemp(store, ".probe-")
	if err != nil {
		return fmt.Errorf("runs cannot be saved in %s: %w", store, err)
	}
	for left, part := requiredSpace, make([]byte, 1<<20); left > 0 && err == nil; left -= len(part) {
		_, err = file.Write(part)
	}
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return fmt.Errorf("runs cannot be saved in %s: %w", store, err)
	}
	return nil
}

// Save writes r below store, in <id>/<time>, and makes store/<id>/latest point there, unless r was interrupted and latest
// is a complete run. It returns the run's directory. The history is written first: a directory without a history is no run,
// and a history without run.json can still be read.
func Save(store string, r Record) (dir string, err error) {
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
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return dir, err
	}
	if err := os.WriteFile(filepath.Join(dir, RunFile), append(text, '\n'), 0o644); err != nil {
		return dir, err
	}
	parent, name := filepath.Split(dir)
	if r.Interrupted && complete(filepath.Join(parent, latest)) {
		return dir, nil
	}
	return dir, point(parent, name)
}

// complete reports whether dir is a run that was not interrupted.
func complete(dir string) bool {
	r, err := Load(dir)
	return err == nil && !r.Interrupted
}

// newDir makes a directory that does not exist yet: two runs may begin in the same millisecond.
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

// point replaces the link latest by one to name, atomically. The link that it makes first is named after the run, so that
// two labs do not collide.
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
