package class

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// File keeps a class: its participants, their guesses and points, which answers were told, and the browsers of its trainers. It has hashes
// in place of the secrets of browsers. The codes of the participants are in it, so only its owner may read it.
//
// What is NOT guaranteed: that the newest changes survive a crash of the machine. They survive the end of this program, however it ends.
// Nor that two programs which save at the same moment notice each other; otherwise the second one saves nothing, and says so.
type File struct {
	*People
	Questions *Questions

	path  string
	asked atomic.Int64 // how often Save was called

	mu    sync.Mutex
	saved int64       // calls of Save whose changes are in the file
	err   error       // of the newest attempt
	is    os.FileInfo // the file as this program has read or written it; nil: there was none
}

// kept is what a file has.
type kept struct {
	People    keptPeople
	Questions []keptQuestion
}

type keptPeople struct {
	Participants []*person
	Scored       map[string]bool
	Trainers     map[string]bool
}

type keptQuestion struct {
	Name string
	question
}

// Open returns the class that a file has. Without the file it has no participants. A file that cannot be read is left as it is, and the
// error says what to do.
func Open(path string) (*File, error) {
	f := &File{People: NewPeople(), Questions: NewQuestions(), path: path}
	f.is, _ = os.Stat(path) // before it is read: what is written in between is noticed
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil {
		err = k.check()
	}
	if err != nil {
		return nil, fmt.Errorf("the class in %s cannot be read: %w; repair the file, or move it away to begin a new class", path, err)
	}
	f.restore(k)
	return f, nil
}

// check returns an error for what no class can have.
func (k kept) check() error {
	for i, of := range k.People.Participants {
		if of == nil || of.ID == "" || of.Name == "" || of.Code == "" {
			return fmt.Errorf("participant %d has no id, name or code", i+1)
		}
	}
	return nil
}

// restore makes a class of what a file has. A question that was not told is open again, because the program no longer has its run.
func (f *File) restore(k kept) {
	for _, of := range k.People.Participants {
		if of.Right == nil {
			of.Right = make(map[string]bool)
		}
		f.all = append(f.all, of)
		for _, browser := range of.Browsers {
			f.browsers[browser] = of
		}
	}
	for browser := range k.People.Trainers {
		f.trainers[browser] = true
	}
	for question := range k.People.Scored {
		f.scored[question] = true
	}
	for _, kept := range k.Questions {
		name, of := kept.Name, kept.question
		if of.closed = of.Told; !of.Told {
			of.Showed, of.Good = "", nil
		} else if of.Good != nil {
			f.Score(name, of.Good) // the program may have ended before it did
		}
		f.Questions.all[name] = of
	}
}

// Save writes the class to its file. Calls at the same time share a write.
func (f *File) Save() error {
	call := f.asked.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.saved >= call {
		return f.err
	}
	f.saved = f.asked.Load()
	if f.err = f.others(); f.err != nil {
		return f.err
	}
	pieces, err := f.encode()
	if err == nil {
		err = replace(f.path, pieces)
	}
	if err == nil {
		f.is, err = os.Stat(f.path)
	}
	f.err = err
	return err
}

// others returns an error if another program has written the file. It needs the mutex.
func (f *File) others() error {
	now, err := os.Stat(f.path)
	if err != nil || f.is != nil && os.SameFile(f.is, now) && f.is.ModTime().Equal(now.ModTime()) {
		return nil
	}
	return fmt.Errorf("another program writes %s; stop one of the two, and start the other one again", f.path)
}

// NotSaved is why the newest changes are not in the file; nil: they are.
func (f *File) NotSaved() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// encode returns the text of the file, in pieces. Most of them are what the file has already: only what has changed is encoded anew.
func (f *File) encode() (pieces [][]byte, err error) {
	people, err := f.People.encode()
	pieces = [][]byte{[]byte(`{"People":`), people, []byte(`,"Questions":[`)}
	f.Questions.mu.Lock()
	defer f.Questions.mu.Unlock()
	between := ""
	for name, of := range f.Questions.all {
		if of.text == nil {
			encoded, failed := json.Marshal(keptQuestion{name, of})
			of.text, err = encoded, errors.Join(err, failed)
			f.Questions.all[name] = of
		}
		pieces = append(pieces, []byte(between), of.text)
		between = ","
	}
	return append(pieces, []byte("]}\n")), err
}

// encode returns the participants and the trainers as the file has them.
func (p *People) encode() (text []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == nil {
		p.text, err = json.Marshal(keptPeople{p.all, p.scored, p.trainers})
	}
	return p.text, err
}

// replace writes a file that only its owner can read. Whoever opens it sees the old text or the new one, and no part.
func replace(path string, pieces [][]byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	next, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(next)
	for _, piece := range pieces {
		_, _ = w.Write(piece) // Flush says the error
	}
	if err := errors.Join(w.Flush(), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), path)
}
