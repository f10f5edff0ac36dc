package versions_test

import (
	"testing"

	"locklab/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.ServeNames()
	testenv.MainParallel(m, 20)
}
