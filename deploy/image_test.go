package deploy_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A room that .dockerignore does not let through is missing only when the image is built, minutes later.
func TestImageIsBuiltFromEveryRoomOfTheProgram(t *testing.T) {
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
		room, ours := strings.CutPrefix(strings.TrimSpace(name), "locklab/")
		if !ours {
			continue
		}
		room, _, _ = strings.Cut(room, "/")
		if !slices.Contains(lines, "!"+room) {
			t.Errorf("the program needs %s, and .dockerignore keeps it from the image: add !%s", strings.TrimSpace(name), room)
		}
	}
}
