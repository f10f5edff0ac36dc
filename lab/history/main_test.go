package history_test

import (
	"testing"

	"locklab/lab/testenv/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
