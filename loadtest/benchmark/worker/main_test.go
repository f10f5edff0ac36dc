package worker

import (
	"os"
	"testing"

	"locklab/lab/servers"
)

// TestMain lets a stack run this binary as its reaper. Without it, that would be this test again, without an end.
func TestMain(m *testing.M) {
	servers.Reexec()
	os.Exit(m.Run())
}
