package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// table is the file with the libraries: how each is used, with which settings, and what its documentation says.
const table = "examples/locks/libraries.json"

// Library is where a lock is from. The lock of the exercise is in Exercise.
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
	Best     bool     `json:"best"`     // it is a second way: with the setting that helps
	Without  string   `json:"without"`  // rows whose documented limit this way does not have
	Of       *Library `json:"-"`
}

// exercise is the title of the locks from SETNX to a fencing token. They are no library.
const exercise = "the exercise"

// Table is what the file has.
type Table struct {
	Locks []Lock // of libraries
	Rungs []Lock // of the exercise
}

// all are the locks that are tried.
func (t Table) all() []Lock { return slices.Concat(t.Locks, t.Rungs) }

func readTable() (t Table, err error) {
	text, err := os.ReadFile(table)
	if err != nil {
		return t, fmt.Errorf("it runs in the root of the repository: %w", err)
	}
	var all []*Library
	if err := json.Unmarshal(text, &all); err != nil {
		return t, fmt.Errorf("%s: %w", table, err)
	}
	for _, l := range all {
		for _, title := range l.Like {
			i := slices.IndexFunc(all, func(other *Library) bool { return other.Title == title })
			if i < 0 {
				return t, fmt.Errorf("%s: %s is like %q, which is no library there", table, l.Title, title)
			}
			l.Limits = slices.Concat(l.Limits, all[i].Limits)
		}
		for _, lock := range l.Locks {
			lock.Of = l
			if l.Title == exercise {
				t.Rungs = append(t.Rungs, lock)
			} else {
				t.Locks = append(t.Locks, lock)
			}
		}
	}
	return t, nil
}

// limit is the first documented limit of a row, if there is one.
func (l Lock) limit(number string) (found Limit, documented bool) {
	for _, one := range l.Of.Limits {
		if strings.Contains(one.Rows, number) && !strings.Contains(l.Without, number) {
			return one, true
		}
	}
	return Limit{}, false
}

func (l Lock) argv() []string { return strings.Fields(l.Command) }
