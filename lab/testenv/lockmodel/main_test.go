package lockmodel

import (
	"testing"

	"locklab/lab/testenv/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
