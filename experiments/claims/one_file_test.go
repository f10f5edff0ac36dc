package claims

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A claim is one file. The file is named after the number of its only experiment. It uses nothing of another file but
// register. So a claim is added, and removed, with its file.
func TestAClaimIsOneFile(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := make(map[string]string) // name of a declaration -> its file
	files := make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
		for object := range file.Scope.Objects {
			declared[object] = name
		}
	}
	for name, file := range files {
		var registers int
		for _, used := range file.Unresolved {
			switch from := declared[used.Name]; {
			case used.Name == "register":
				registers++
			case from != "":
				t.Errorf("%s uses %s of %s; put it into package kit", name, used.Name, from)
			}
		}
		if name != "claims.go" && registers != 1 {
			t.Errorf("%s registers %d experiments, want one", name, registers)
		}
	}
	for _, e := range All() {
		number, _, _ := strings.Cut(strings.ToLower(e.ID), "-")
		if found, _ := filepath.Glob(number + "_*.go"); len(found) != 1 {
			t.Errorf("%s has the files %v, want one", e.ID, found)
		}
	}
	if len(files) != len(All())+1 {
		t.Errorf("%d files for %d experiments and claims.go", len(files), len(All()))
	}
}
