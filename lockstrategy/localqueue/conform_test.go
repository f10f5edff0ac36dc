package localqueue_test

import (
	"testing"

	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
)

func TestProcessMutexConforms(t *testing.T) {
	t.Parallel()
	locktest.RunInBubbles(t, func(*testing.T) locktest.Backend {
		return locktest.Backend{InProcess: true, Queued: true, Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			return testlocks.Opened(t, true, lockstrategy.None{}, func() error { return nil }, s.HandOff)
		}}
	})
}
