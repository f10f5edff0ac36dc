// Package benchfile is the file that make bench writes: a line about the machine, then one line for each run. loadtest/benchmark writes it,
// and two pages have their figures from it: docs/benchmark.md and docs/compare.md.
package benchfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"locklab/versions"
)

// Forms of a run: the whole plan, or some workloads or locks of it.
const (
	AllRows   = "all rows"
	QuickLook = "quick look"
)

// Header says where, when and with what the runs were made.
type Header struct {
	Date       string            `json:"date"`
	Form       string            `json:"form"` // AllRows or QuickLook
	Machine    string            `json:"machine"`
	Processors int               `json:"processors,omitempty"` // 0: an older file, which does not say it
	Versions   map[string]string `json:"versions"`
	Stamp      string            `json:"stamp"`   // git describe of the tree
	Missing    map[string]string `json:"missing"` // lock or workload: what it needs
	RoundTrip  float64           `json:"round_trip_us"`
	Emulated   float64           `json:"emulated_us"` // p50 of a PING through the delay; 0: there was none
	Reps       int               `json:"reps"`
}

// Run is one lock under one workload, once.
type Run struct {
	Workload  string  `json:"workload"`
	Lock      string  `json:"lock"`
	Rep       int     `json:"rep"`
	Processes int     `json:"processes"`
	Waiters   int     `json:"waiters"` // of all processes
	Want      int     `json:"want"`    // sections of a burst; 0: the time is the limit
	Done      int     `json:"done"`
	Failed    int     `json:"failed"`
	Lost      int     `json:"lost"` // lost updates
	Error     string  `json:"error,omitempty"`
	Seconds   float64 `json:"seconds"`
	Rate      float64 `json:"rate"` // sections, or pairs of lock and unlock, per second
	Jain      float64 `json:"jain"` // over the waiters of all processes

	JainProcesses float64   `json:"jain_processes"`
	Shares        []float64 `json:"shares"` // of the sections, of each process
	Turns         int       `json:"turns"`  // messages that a lock was released; none for a hand-off inside a process

	WaitP50   float64 `json:"wait_p50_us"`
	WaitP99   float64 `json:"wait_p99_us"`
	WaitMax   float64 `json:"wait_max_us"`
	Commands  float64 `json:"commands"` // per section, hand-over or pair, of all servers
	Reads     float64 `json:"reads"`
	ServerCPU float64 `json:"server_cpu_us"` // per section, likewise
	ClientCPU float64 `json:"client_cpu_us"`
	PerWaiter float64 `json:"bytes_per_waiter"` // memory only
}

// MayLose reports whether r is there to show lost updates: a version of the app without a lock between processes.
func (r Run) MayLose() bool {
	v, _ := versions.Find(r.Lock)
	return r.Workload == "http" && v.LosesUpdates
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
