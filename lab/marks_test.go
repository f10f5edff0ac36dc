package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named finds the name of a mark, and each value of the type Violation.
var named = regexp.MustCompile(`(?:Mark\{Name: |Violation += )"([^"]+)"`)

// The names by which checks find events are in saved runs, so they never change: a saved run with a name that is gone would be judged as if
// it were not there. A new one is added to the list. Where people should read other words, a mark has them beside its name.
func TestNamesOfMarksNeverChange(t *testing.T) {
	text, err := os.ReadFile("testdata/marks.txt")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, name := range named.FindAllSubmatch(source, -1) {
			found = append(found, string(name[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	if listed := strings.Split(strings.TrimSpace(string(text)), "\n"); !slices.Equal(found, listed) {
		t.Errorf("the marks are\n%q, and testdata/marks.txt has\n%q: a new name is added to it, and an old one stays", found, listed)
	}
}
