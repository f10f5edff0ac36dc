package experiments

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// flags are those of a command line in a text.
var flags = regexp.MustCompile(`(^|[^-\w])--[a-z]`)

// Nothing below experiments writes to a stream of the process or reads its arguments: the caller chooses and shows an experiment.
// The engine itself names no flag.
func TestTheEngineHasNoTerminal(t *testing.T) {
	streams := map[string][]string{
		"os": {"Stdout", "Stderr", "Stdin", "Args"}, "fmt": {"Print", "Printf", "Println"}, "log": nil, "flag": nil,
	}
	files := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				pkg, is := n.X.(*ast.Ident)
				if !is || pkg.Obj != nil { // a variable of that name
					return true
				}
				if names, denied := streams[pkg.Name]; denied && (names == nil || slices.Contains(names, n.Sel.Name)) {
					t.Errorf("%s: %s.%s", set.Position(n.Pos()), pkg.Name, n.Sel.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && filepath.Dir(path) == "." && flags.MatchString(n.Value) {
					t.Errorf("%s names a flag: %s", set.Position(n.Pos()), n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
