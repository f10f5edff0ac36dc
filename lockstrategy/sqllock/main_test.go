package sqllock_test

import (
	"testing"

	"locklab/lab/testenv"
)

func TestMain(m *testing.M) {
	testenv.ServeNames()
	testenv.MainParallel(m, 20)
}
