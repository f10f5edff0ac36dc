package pages

import (
	"testing"

	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
