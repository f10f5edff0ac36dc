package claims

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Code of one claim stands in that claim's files: the packages that claims share have nothing that one claim uses, and nobody else.
func TestSharedPackagesServeSeveralClaims(t *testing.T) {
	for _, name := range []string{"clients", "failovers", "services"} {
		declared, within := sharedBy(t, filepath.Join("..", name))
		users := make(map[string]map[string]bool) // by name of the declaration: the claims
		all := claimFiles(t)
		for _, dir := range []string{"clients", "failovers", "services"} {
			maps.Copy(all, parsed(t, filepath.Join("..", dir)))
		}
		for file, syntax := range all {
			ast.Inspect(syntax, func(n ast.Node) bool {
				s, is := n.(*ast.SelectorExpr)
				if !is || !declared[s.Sel.Name] {
					return true
				}
				if of, is := s.X.(*ast.Ident); is && of.Name == name {
					if users[s.Sel.Name] == nil {
						users[s.Sel.Name] = make(map[string]bool)
					}
					users[s.Sel.Name][claimOf(file)] = true
				}
				return true
			})
		}
		for _, d := range slices.Sorted(maps.Keys(declared)) {
			if by := users[d]; len(by) < 2 && !within[d] {
				t.Errorf("%s.%s serves %v only: put it there", name, d, slices.Collect(maps.Keys(by)))
			}
		}
	}
}

// parsed are the files of a folder without its tests.
func parsed(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	files := make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// sharedBy are the exported declarations of a package, and those of them that the package itself uses as well.
func sharedBy(t *testing.T, dir string) (declared, within map[string]bool) {
	t.Helper()
	declared, within = make(map[string]bool), make(map[string]bool)
	uses := make(map[string]int)
	for _, file := range parsed(t, dir) {
		for name := range file.Scope.Objects {
			declared[name] = declared[name] || ast.IsExported(name)
		}
		var count func(n ast.Node) bool
		count = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr: // a field, a method, or what another package declares
				ast.Inspect(n.X, count)
				return false
			case *ast.Ident:
				uses[n.Name]++
			}
			return true
		}
		ast.Inspect(file, count)
	}
	maps.DeleteFunc(declared, func(_ string, exported bool) bool { return !exported })
	for name := range declared {
		within[name] = uses[name] > 1
	}
	return declared, within
}
