package deploy_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Without this test, a package that .dockerignore excludes is noticed only when the image is built, minutes later.
func TestImageIsBuiltFromEveryPackageOfTheProgram(t *testing.T) {
	text, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/app")
	list.Dir = ".."
	packages, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for name := range strings.Lines(string(packages)) {
		dir, ours := strings.CutPrefix(strings.TrimSpace(name), "locklab/")
		if !ours {
			continue
		}
		dir, _, _ = strings.Cut(dir, "/")
		if !slices.Contains(lines, "!"+dir) {
			t.Errorf("the program needs %s, and .dockerignore excludes it: add !%s", strings.TrimSpace(name), dir)
		}
	}
}
