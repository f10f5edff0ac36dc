// Package leaks fails the tests of a package when they leave a goroutine behind.
package leaks

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// longest is how long a goroutine may take to its end on a busy machine. goleak alone gives it less than half a second.
const longest = 30 * time.Second

// Main runs tests, and ends the process with their exit code, or with 1 when goroutines are left.
func Main(m interface{ Run() int }, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := Find(longest, options...); err != nil {
			fmt.Fprintln(os.Stderr, "goleak: goroutines are left after all tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find asks for goroutines that are left until there is none, at most for so long.
func Find(most time.Duration, options ...goleak.Option) error {
	for began := time.Now(); ; {
		err := goleak.Find(options...)
		if err == nil || time.Since(began) > most {
			return err
		}
	}
}
