// Package benchfile is the file that make bench and make scale write: a line about the machine, then one line for each run.
// loadtest/benchmark writes it, and docs/benchmark.md, docs/scale.md and docs/compare.md have their figures from it.
package benchfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Forms of a run: the whole plan, or some workloads or locks of it.
const (
	AllRows   = "all rows"
	QuickLook = "quick look"
)

// Header says where, when and with what the runs were made.
type Header struct {
	Date     string            `json:"date"`
	Form     string            `json:"form"` // AllRows or QuickLook
	Machine  string            `json:"machine"`
	Versions map[string]string `json:"versions"`
	Stamp    string            `json:"stamp"`   // git describe of the tree
	Missing  map[string]string `json:"missing"` // lock: what it needs
	Reps     int               `json:"reps"`
}

// Run is one lock under one workload, once.
type Run struct {
	Workload string  `json:"workload"`
	Lock     string  `json:"lock"`
	Rep      int     `json:"rep"`
	Want     int     `json:"want,omitempty"` // sections of a burst; 0: the time is the limit
	Done     int     `json:"done"`
	Failed   int     `json:"failed,omitempty"` // waiters
	Lost     int     `json:"lost,omitempty"`   // updates
	Error    string  `json:"error,omitempty"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"rate"` // sections, or pairs of lock and unlock, per second

	Jain          float64   `json:"jain,omitempty"` // over the waiters of all processes
	JainProcesses float64   `json:"jain_processes,omitempty"`
	Shares        []float64 `json:"shares,omitempty"` // of the sections, of each process

	WaitP50   float64 `json:"wait_p50_us"`
	WaitP99   float64 `json:"wait_p99_us"`
	WaitMax   float64 `json:"wait_max_us"`
	Commands  float64 `json:"commands"` // per section, hand-over or pair, of all servers
	Reads     float64 `json:"reads"`    // of the sockets of Redis, likewise
	ServerCPU float64 `json:"server_cpu_us"`
}

// Saved is a whole file.
type Saved struct {
	Header Header
	Runs   Runs
}

// Read reads a file. If it was cut off, the runs before that are returned.
func Read(in io.Reader) (Saved, error) {
	var s Saved
	lines := json.NewDecoder(bufio.NewReader(in))
	if err := lines.Decode(&s.Header); err != nil {
		return s, fmt.Errorf("header: %w", err)
	}
	for {
		var r Run
		if err := lines.Decode(&r); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return s, nil
		} else if err != nil {
			return s, fmt.Errorf("run %d: %w", len(s.Runs), err)
		}
		s.Runs = append(s.Runs, r)
	}
}
