package compare

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Bench is the file that `make bench` leaves: loadtest/peers/record describes it. That is another module, so its lines are read here.
type Bench struct {
	Date  string `json:"date"`
	Stamp string `json:"stamp"`
	Runs  []Run  `json:"-"`
}

// Run is one lock under one load, once.
type Run struct {
	Workload      string  `json:"workload"`
	Lock          string  `json:"lock"`
	Rep           int     `json:"rep"`
	Want          int     `json:"want"`
	Done          int     `json:"done"`
	Failed        int     `json:"failed"`
	Lost          int     `json:"lost"`
	Error         string  `json:"error"`
	Seconds       float64 `json:"seconds"`
	Rate          float64 `json:"rate"`
	Jain          float64 `json:"jain"`
	JainProcesses float64 `json:"jain_processes"`
	WaitP50       float64 `json:"wait_p50_us"`
	WaitP99       float64 `json:"wait_p99_us"`
	Commands      float64 `json:"commands"`
}

// The groups of the benchmark that have all backends.
const (
	alone     = "backends-uncontended"
	together  = "backends-burst"
	sustained = "backends-sustained"
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
	lines := json.NewDecoder(bufio.NewReader(file))
	if err := lines.Decode(&b); err != nil {
		return b, fmt.Errorf("%s is not what make bench writes: %w", path, err)
	}
	for {
		var r Run
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // it was cut off: the runs before that count
			return b, nil
		case err != nil:
			return b, fmt.Errorf("%s: line %d: %w", path, len(b.Runs)+2, err)
		}
		b.Runs = append(b.Runs, r)
	}
}

// number is a figure of a run.
type number func(Run) float64

func seconds(r Run) float64       { return r.Seconds }
func rate(r Run) float64          { return r.Rate }
func jain(r Run) float64          { return r.Jain }
func jainProcesses(r Run) float64 { return r.JainProcesses }
func waitP50(r Run) float64       { return r.WaitP50 }
func waitP99(r Run) float64       { return r.WaitP99 }
func commands(r Run) float64      { return r.Commands }

func (r Run) clean() bool { return r.Failed == 0 && r.Lost == 0 && r.Error == "" && r.Seconds > 0 }

// median is that of the runs in which every waiter was served and no update was lost; false: there are none.
func (b Bench) median(workload, lock string, of number) (float64, bool) {
	var all []float64
	for _, r := range b.Runs {
		if r.Workload == workload && r.Lock == lock && r.clean() {
			all = append(all, of(r))
		}
	}
	return middle(all)
}

// ratio is the median of a/b over the repetitions in which both were clean.
func (b Bench) ratio(workload, lock, other string, of number) (float64, bool) {
	var all []float64
	for _, x := range b.Runs {
		for _, y := range b.Runs {
			if x.Workload == workload && y.Workload == workload && x.Lock == lock && y.Lock == other && x.Rep == y.Rep &&
				x.clean() && y.clean() && of(y) > 0 {
				all = append(all, of(x)/of(y))
			}
		}
	}
	return middle(all)
}

// failed is the run in which the fewest waiters were served; false: all were, in every run.
func (b Bench) failed(workload, lock string) (worst Run, any bool) {
	for _, r := range b.Runs {
		if r.Workload == workload && r.Lock == lock && !r.clean() && (!any || r.Done < worst.Done) {
			worst, any = r, true
		}
	}
	return worst, any
}

func middle(all []float64) (float64, bool) {
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[(len(all)-1)/2], true
}
