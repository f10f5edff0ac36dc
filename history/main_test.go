package history

import (
	"testing"

	"locklab/internal/testenv/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
