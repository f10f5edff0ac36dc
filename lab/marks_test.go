package lab

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The names by which checks find events are in saved runs, so they never change. A new one is added to the list. Where people should read
// other words, a mark has them beside its name.
func TestNamesOfMarksNeverChange(t *testing.T) {
	text, err := os.ReadFile("testdata/marks.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(text)), "\n")
	found := marks(t)
	for _, name := range found {
		if !slices.Contains(listed, name) {
			t.Errorf("testdata/marks.txt lacks %q: add it, if the mark is new; otherwise give the mark its old name", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(found, name) {
			t.Errorf("no mark has the name %q: saved runs with it would be judged as if it were not there", name)
		}
	}
}

// marks are the names of all marks and violations below this folder, sorted.
func marks(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, value := range named(n) {
				if literal, is := value.(*ast.BasicLit); is {
					name, _ := strconv.Unquote(literal.Value)
					names = append(names, name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// named are the values that are a mark's name, or of the type Violation.
func named(n ast.Node) []ast.Expr {
	is := func(e ast.Expr, name string) bool {
		if selector, qualified := e.(*ast.SelectorExpr); qualified {
			return selector.Sel.Name == name
		}
		ident, plain := e.(*ast.Ident)
		return plain && ident.Name == name
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		if is(n.Type, "Mark") && len(n.Elts) > 0 {
			return []ast.Expr{n.Elts[0].(*ast.KeyValueExpr).Value}
		}
	case *ast.ValueSpec:
		if is(n.Type, "Violation") {
			return n.Values
		}
	}
	return nil
}
