package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"locklab/lab/history"
)

// The files of a saved run.
const (
	RunFile     = "run.json"
	historyFile = "history.jsonl"
	verdictFile = "judgement.json"
	ReportFile  = "report.html" // written by package lab/report/html
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

// Save writes r and its judgement below store, in <id>/<time>, and makes store/<id>/latest point there, unless r was interrupted and latest
// is a complete run. It returns the run's directory. The history is written first: a directory without a history is no run,
// and a history without run.json can still be read.
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
	if err := errors.Join(writeJSON(dir, verdictFile, j), writeJSON(dir, RunFile, r)); err != nil {
		return dir, err
	}
	parent, name := filepath.Split(dir)
	if r.Interrupted && complete(filepath.Join(parent, latest)) {
		return dir, nil
	}
	return dir, point(parent, name)
}

// writeJSON writes a file of a saved run.
func writeJSON(dir, name string, what any) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o644)
}

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

// largest is how many bytes a file of a saved run may have.
const largest = 256 << 20

// Load reads a saved run. An error says what is wrong with it; then nothing can be concluded.
func Load(dir string) (r Record, err error) {
	text, err := readJSON(dir, RunFile)
	if err != nil {
		return r, err
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
			RunFile, *head.Format, Format, Printable(head.Experiment))
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s is damaged: %w", RunFile, err)
	}
	return r, r.load(dir)
}

// readJSON reads a file of a saved run that is JSON.
func readJSON(dir, name string) ([]byte, error) {
	file, err := open(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("%s is damaged or cut short: it is no JSON", name)
	}
	return text, nil
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

// Saved is a run with its judgement, from a store or just ended.
type Saved struct {
	Dir        string
	Experiment Experiment // the zero value when this program does not know it
	Record     Record
	Judgement  Judgement
}

// Judged is a saved run with the judgement that it had when it ended, and without its record: nothing is judged again. A run that was saved
// before judgements were is judged now, once. One whose judgement is damaged is inconclusive, and the reason says what to do.
func (c Catalogue) Judged(dir string) (s Saved) {
	if !has(dir, verdictFile) {
		s = c.Rejudge(dir)
		if s.Record.Count > 0 && s.Record.Count == len(s.Record.Events) {
			_ = writeJSON(dir, verdictFile, s.Judgement) // else it is judged the next time, too
		}
		s.Record = Record{}
		return s
	}
	s = Saved{Dir: dir}
	id := filepath.Base(filepath.Dir(dir))
	if e, err := c.Find(id); err == nil && e.ID == id {
		s.Experiment = e
	}
	text, err := readJSON(dir, verdictFile)
	if err == nil {
		err = json.Unmarshal(text, &s.Judgement)
	}
	if err == nil && s.Judgement.Experiment != id {
		err = fmt.Errorf("%s is that of %q", verdictFile, s.Judgement.Experiment)
	}
	if err != nil {
		s.Judgement = Judgement{Experiment: id, Why: fmt.Sprintf("%v; delete this file, and it is written anew", err), Void: true}
	}
	return s
}

// Open is a saved run with its record, and with the judgement that it had when it ended: see [Catalogue.Judged]. A record that is damaged
// makes it inconclusive.
func (c Catalogue) Open(dir string) Saved {
	if !has(dir, verdictFile) {
		return c.Rejudge(dir)
	}
	s := c.Judged(dir)
	var damage error
	if s.Record, damage = Load(dir); damage != nil {
		s.Judgement = Judgement{Experiment: s.Judgement.Experiment, Why: damage.Error(), Void: true}
	}
	return s
}

// Rejudge judges a saved run from its files alone. Anything wrong with the files
// makes the judgement inconclusive, with the reason in it.
func (c Catalogue) Rejudge(dir string) (s Saved) {
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
	if e, err := c.Find(s.Record.Experiment); err == nil && e.ID == s.Record.Experiment {
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
// store. It is empty when path is none of these. Where an experiment has no newest run, [Catalogue.Rejudge] says so.
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

// History names the saved runs of an experiment in store, the newest first. Each is a folder of store/<id>.
func History(store, id string) (all []string) {
	for _, name := range names(filepath.Join(store, id)) {
		if name != latest && isRun(filepath.Join(store, id, name)) {
			all = append(all, name)
		}
	}
	slices.Reverse(all) // each is named after its time, and a folder is read in the order of its names
	return all
}

// hasRuns reports whether dir is an experiment's: it has runs, or a link to its newest run.
func hasRuns(dir string) bool {
	return has(dir, latest) || slices.ContainsFunc(names(dir), func(name string) bool { return isRun(filepath.Join(dir, name)) })
}

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
