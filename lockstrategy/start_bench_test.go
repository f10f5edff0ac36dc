//go:build unix

package lockstrategy_test

import (
	"syscall"
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
)

// BenchmarkStartDelay shows why a session starts later than the timeout of a request. A timer that is due before all others makes the
// runtime wake a thread for each lock. It counts the context switches of this process for one acquire and release.
func BenchmarkStartDelay(b *testing.B) {
	testenv.Needs(b, testenv.RedisServer)
	lock := must(lockstrategy.NewRedis(client(b, testenv.Redis(b, true).Addr), lockstrategy.Timing{}))(b)
	b.Cleanup(func() { _ = lock.Close() })
	for name, delay := range map[string]time.Duration{"none": 0, "100ms": 100 * time.Millisecond, "2.5s": 2500 * time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			before := switches()
			for b.Loop() {
				lease, err := lock.Acquire(b.Context(), "lock:bench")
				if err != nil {
					b.Fatal(err)
				}
				var timer *time.Timer
				if delay > 0 {
					timer = time.AfterFunc(delay, func() {})
				}
				if err := lease.Release(b.Context()); err != nil {
					b.Fatal(err)
				}
				if timer != nil {
					timer.Stop()
				}
			}
			b.ReportMetric(float64(switches()-before)/float64(b.N), "switches/op")
		})
	}
}

func switches() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Nvcsw + usage.Nivcsw
}
