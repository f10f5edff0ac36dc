package worker

import "strconv"

// The runner and its workers exchange JSON, one line each, on a worker's standard input and output. The Java worker does so, too.

// Kinds of load.
const (
	Uncontended = "uncontended" // one waiter locks and unlocks, with no section
	Burst       = "burst"       // every waiter locks at the same moment, Each times
	Sustained   = "sustained"   // every waiter locks again and again until the time is over
	HandOver    = "hand-over"   // the runner says take and give
)

// Load is what one worker does in one run.
type Load struct {
	Kind    string `json:"kind"`
	Waiters int    `json:"waiters"` // goroutines or threads of this worker
	Each    int    `json:"each"`    // sections of each waiter in a burst
	Keys    int    `json:"keys"`    // waiter i uses key i modulo Keys
	Millis  int    `json:"millis"`  // how long a sustained or uncontended load lasts
	Limit   int    `json:"limit"`   // milliseconds after which a waiter that still waits has failed
}

// Task prepares a worker: it opens the lock, warms it up, and has its waiters ready.
type Task struct {
	Lock    string   `json:"lock"`
	Redis   string   `json:"redis"` // host:port, as all addresses
	Nodes   []string `json:"nodes"`
	Backend string   `json:"backend"` // the server that keeps the lock, where it is not a Redis: as the flag of app serve has it
	Load    Load     `json:"load"`
}

// Order is "prepare", then "go", or for a hand-over "take" and "give", any number of times. A closed input ends the worker.
type Order struct {
	Do   string `json:"do"`
	Task *Task  `json:"task,omitempty"`
	At   int64  `json:"at,omitempty"` // for go: Unix microseconds
}

// Answer is one line for each order.
type Answer struct {
	Error  string  `json:"error,omitempty"`
	At     int64   `json:"at,omitempty"` // Unix nanoseconds: when the lock was granted, or the release began
	Result *Result `json:"result,omitempty"`
}

// Result is what one worker saw in one run.
type Result struct {
	Done   []int  `json:"done"`    // sections of each waiter
	InTime []int  `json:"in_time"` // of those, how many before a sustained load's time was over
	Failed int    `json:"failed"`  // waiters that got an error, or were still waiting at the limit
	Error  string `json:"error"`   // one of their errors
	Waits  []int  `json:"waits"`   // microseconds, lock asked to lock granted; uncontended: to lock released
	Began  int64  `json:"began"`   // Unix microseconds
	Ended  int64  `json:"ended"`   // likewise: of the last section
}

// Key names lock number i.
func Key(i int) string { return "peers:lock:" + letter(i) }

// Value names the counter that lock number i guards.
func Value(i int) string { return "peers:value:" + letter(i) }

// letter is a to z for the first 26 numbers, as in the Java worker, and then a number. A brace would be a tag of a cluster.
func letter(i int) string { return strconv.FormatInt(int64(i)+10, 36) }
