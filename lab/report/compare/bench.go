package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"locklab/lab/report/benchfile"
)

// Bench is what this page needs of the file that `make bench` leaves.
type Bench struct {
	Date, Stamp string
	Machine     string // it begins with the number of its processors
	benchfile.Runs
}

// Run is one lock under one load, once.
type Run = benchfile.Run

// The groups of the benchmark that have all backends.
const (
	alone     = "backends-uncontended"
	together  = "backends-burst"
	sustained = "backends-sustained"
)

// Groups of rows that ran at another time.
const (
	librariesAlone = "uncontended"
	librariesBurst = "burst"
	libraries      = "sustained"
)

// ReadBench reads the file. One that does not exist has no runs.
func ReadBench(path string) (b Bench, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	defer file.Close()
	saved, err := benchfile.Read(file)
	if err != nil {
		return b, fmt.Errorf("%s is not what make bench writes: %w", path, err)
	}
	return Bench{saved.Header.Date, saved.Header.Stamp, saved.Header.Machine, saved.Runs}, nil
}

// failed is the run in which the fewest waiters were served; false: all were, in every run.
func (b Bench) failed(workload, lock string) (worst Run, any bool) {
	for _, r := range b.Row(workload, lock) {
		if !r.Clean() && (!any || r.Done < worst.Done) {
			worst, any = r, true
		}
	}
	return worst, any
}
