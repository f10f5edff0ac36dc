package pages

import (
	"testing"

	"locklab/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
