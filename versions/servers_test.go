package versions_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"locklab/internal/testenv"
	"locklab/stack"
	"locklab/topology"
	"locklab/versions"
)

// Every server of the table can be connected to and started, and CONTRIBUTING.md says where.
func TestEveryServerIsInBothRegistriesAndInContributing(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page := read(t, "CONTRIBUTING.md")
	rows := make(map[string][]string) // the kind: the files that connect and start
	found := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(topology/\\w+\\.go)` \\| `(stack/\\w+\\.go)` \\|$")
	for _, row := range found.FindAllStringSubmatch(page, -1) {
		rows[row[1]] = row[2:]
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, kind := range versions.Needs(versions.Names()...) {
		name := string(kind)
		_, err := topology.Connect(ended, name, topology.Config{Kind: topology.Single, Addrs: []string{"127.0.0.1:1"}})
		if err != nil && strings.Contains(err.Error(), "no kind of server") {
			t.Errorf("topology: %v", err)
		}
		if _, known := stack.KindNamed(name); !known {
			t.Errorf("stack starts no %s", name)
		}
		files := rows[name]
		if files == nil {
			t.Errorf("CONTRIBUTING.md has no row for %s", name)
			continue
		}
		if !strings.Contains(read(t, files[0]), ") Backend() any") {
			t.Errorf("%s: %s has no Backend", name, files[0])
		}
		if !strings.Contains(read(t, files[1]), `Kind{Name: "`+name+`"`) {
			t.Errorf("%s: %s has no such Kind", name, files[1])
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("CONTRIBUTING.md has a row for %s, which keeps no locks", name)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
