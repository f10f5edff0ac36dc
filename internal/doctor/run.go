package doctor

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How long to wait.
const (
	commandWithin = 5 * time.Second   // for one command
	checkWithin   = 2 * commandWithin // for a check; none waits for more than two commands in a row
)

// Line is a result, with the check that it came from.
type Line struct {
	Check string `json:"check"`
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

// Run makes all checks at once and returns their lines in the order of the checks. A check that hangs
// is a problem. Its goroutine is left behind until the program ends: a file system that does not
// answer listens to no context.
func Run(ctx context.Context, checks []Check) []Line { return runWithin(ctx, checks, checkWithin) }

func runWithin(ctx context.Context, checks []Check, within time.Duration) []Line {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	results := make([][]Result, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() {
			done := make(chan []Result, 1)
			go func() { done <- check.Run(ctx) }()
			select {
			case results[i] = <-done:
			case <-time.After(within + time.Second): // it had its chance to say it better
				results[i] = problem(noAnswer("the check", within), "run the doctor again; if it stays so, restart this machine")
			}
		})
	}
	all.Wait()
	var lines []Line
	for i, check := range checks {
		for _, r := range results[i] {
			line := Line{check.Name, check.Name, r.OK, r.Found, r.Do}
			if r.Name != "" {
				line.Name = r.Name
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Problems counts the lines that are not ok.
func Problems(lines []Line) int {
	n := 0
	for _, line := range lines {
		if !line.OK {
			n++
		}
	}
	return n
}

func noAnswer(who string, within time.Duration) string {
	return fmt.Sprintf("%s gave no answer in %g s", who, within.Seconds())
}
