package claims

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"locklab/lab"
)

// claimFiles are the files of the claims, by folder and name.
func claimFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*/[a-z][0-9]*_*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("there are no claims: %v", err)
	}
	files := make(map[string]*ast.File)
	for _, name := range names {
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// claimOf is the claim of a file: its folder and its number.
func claimOf(file string) string { number, _, _ := strings.Cut(file, "_"); return number }

// The files of a claim begin with its number, and one of them has its experiment, named by the number. They use nothing of another claim.
// So a claim is added, and removed, with its files. A claim that is not listed fails.
func TestAClaimStandsAlone(t *testing.T) {
	declared := make(map[string]string) // folder and name of a declaration -> its claim
	files := claimFiles(t)
	for name, file := range files {
		for object := range file.Scope.Objects {
			declared[filepath.Join(filepath.Dir(name), object)] = claimOf(name)
		}
	}
	for name, file := range files {
		for _, used := range file.Unresolved {
			if from := declared[filepath.Join(filepath.Dir(name), used.Name)]; from != "" && from != claimOf(name) {
				t.Errorf("%s uses %s of %s; put it into clients, failovers or services", name, used.Name, from)
			}
		}
	}
	listed := make(map[string]bool) // claims
	for _, e := range All() {
		number := lab.Number(e.ID)
		found, err := filepath.Glob("*/" + strings.ToLower(number) + "_*.go")
		if err != nil || len(found) == 0 {
			t.Errorf("%s has no file: %v", e.ID, err)
			continue
		}
		claim := claimOf(found[0])
		if listed[claim] = true; declared[filepath.Join(filepath.Dir(claim), number)] != claim {
			t.Errorf("the files of %s declare no %s", claim, number)
		}
	}
	for name := range files {
		if !listed[claimOf(name)] {
			t.Errorf("%s is of no claim in the list: declare it with Experiments.Add", name)
		}
	}
}

// Every file has its texts and its variants at the same place: the fields stand in the order of the type.
func TestFieldsStandInTheOrderOfTheirType(t *testing.T) {
	of := reflect.TypeFor[lab.Experiment]()
	for name, file := range claimFiles(t) {
		last := -1
		ast.Inspect(file, func(n ast.Node) bool {
			literal, is := n.(*ast.CompositeLit)
			if !is {
				return true
			}
			if s, is := literal.Type.(*ast.SelectorExpr); !is || s.Sel.Name != "Experiment" {
				return true
			}
			for _, element := range literal.Elts {
				field := element.(*ast.KeyValueExpr).Key.(*ast.Ident).Name
				f, _ := of.FieldByName(field)
				if f.Index[0] < last {
					t.Errorf("%s: %s comes too late", name, field)
				}
				last = f.Index[0]
			}
			return false
		})
	}
}
