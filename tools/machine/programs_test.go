package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// A machine that lacks programs is told their packages, each once.
func TestMissingProgramsAreNamed(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	there := filepath.Join(bin, "there")
	if err := os.WriteFile(there, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	found := []Program{{"there", "a"}, {there, "b"}}
	if err := Missing(found); err != nil {
		t.Error(err)
	}
	err := Missing(append(found, Program{"gone", "c"}, Program{"/nowhere/bridge", "d"}, Program{"gone-too", "c"}))
	if err == nil || err.Error() != "programs are missing: apt-get install c d" {
		t.Error(err)
	}
}
