package lockstrategy_test

import (
	"testing"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
)

func TestProcessMutexConforms(t *testing.T) {
	t.Parallel()
	locktest.RunInBubbles(t, func(*testing.T) locktest.Backend {
		return locktest.Backend{Cohort: true, Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			return locktest.Client{Opened: open(t, lockstrategy.NameProcess, lockstrategy.Backends{HandOff: s.HandOff})}
		}}
	})
}
