package localqueue_test

import (
	"testing"

	"locklab/internal/testlocks"
	"locklab/lockstrategy/locktest"
	"locklab/versions"
)

func TestProcessMutexConforms(t *testing.T) {
	t.Parallel()
	locktest.RunInBubbles(t, func(*testing.T) locktest.Backend {
		return locktest.Backend{Cohort: true, Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			return locktest.Client{Opened: testlocks.Open(t, versions.NameProcess, versions.Backends{HandOff: s.HandOff})}
		}}
	})
}
