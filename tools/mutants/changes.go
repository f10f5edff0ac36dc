package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// change is one line of a Go file that is another line instead.
type change struct {
	pkg, file     string // file lies below the root of the module
	line          int
	before, after string // the whole lines
}

// apply returns the file's text with the change.
func (c change) apply(source string) string {
	lines := strings.SplitAfter(source, "\n")
	lines[c.line-1] = strings.Replace(lines[c.line-1], c.before, c.after, 1)
	return strings.Join(lines, "")
}

// changes lists, for one file, every change of one line that may compile and that does something else.
func changes(pkg, file string) ([]change, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := finder{pkg: pkg, file: filepath.ToSlash(file), lines: strings.Split(string(source), "\n"), set: token.NewFileSet()}
	parsed, err := parser.ParseFile(f.set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(parsed, f.look)
	return f.found, nil
}

type finder struct {
	pkg, file string
	lines     []string
	set       *token.FileSet
	found     []change
}

// replace adds a change: the text from one position to another becomes with. Text of several lines is left alone.
func (f *finder) replace(from, to token.Pos, with string) {
	begin, end := f.set.Position(from), f.set.Position(to)
	if begin.Line == end.Line {
		line := f.lines[begin.Line-1]
		f.found = append(f.found, change{f.pkg, f.file, begin.Line, line, line[:begin.Column-1] + with + line[end.Column-1:]})
	}
}

// operator replaces an operator by each that it is swapped with.
func (f *finder) operator(at token.Pos, old token.Token) {
	for _, pair := range swaps {
		for i, operator := range pair {
			if operator == old {
				f.replace(at, at+token.Pos(len(old.String())), pair[1-i].String())
			}
		}
	}
}

var swaps = [][2]token.Token{
	{token.LSS, token.LEQ},
	{token.LSS, token.GEQ},
	{token.GTR, token.GEQ},
	{token.GTR, token.LEQ},
	{token.EQL, token.NEQ},
	{token.LAND, token.LOR},
	{token.ADD, token.SUB},
	{token.MUL, token.QUO},
	{token.INC, token.DEC},
	{token.ADD_ASSIGN, token.SUB_ASSIGN},
}

func (f *finder) look(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.GenDecl:
		return n.Tok != token.IMPORT
	case *ast.BinaryExpr:
		f.operator(n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.replace(n.OpPos, n.X.Pos(), "")
		}
	case *ast.BasicLit:
		if number, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
			f.replace(n.Pos(), n.End(), strconv.Itoa(number+1))
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			f.replace(n.Pos(), n.End(), other)
		}
	case *ast.IncDecStmt:
		f.operator(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		f.operator(n.TokPos, n.Tok)
	case *ast.FuncDecl:
		f.errors(n.Type, n.Body)
	case *ast.FuncLit:
		f.errors(n.Type, n.Body)
	default:
		f.statements(node)
	}
	return true
}

// statements looks at what decides which statements are executed.
func (f *finder) statements(node ast.Node) {
	switch n := node.(type) {
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.negate(n.Cond)
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			for _, condition := range clause.(*ast.CaseClause).List {
				if n.Tag == nil {
					f.negate(condition)
				}
			}
		}
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	case *ast.CommClause:
		f.drop(n.Body)
	}
}

// negate negates a condition, unless another change does the same: of a comparison, or of what is negated already.
func (f *finder) negate(condition ast.Expr) {
	switch n := condition.(type) {
	case nil:
		return
	case *ast.BinaryExpr:
		if n.Op != token.LAND && n.Op != token.LOR {
			return
		}
	case *ast.UnaryExpr:
		return
	}
	begin, end := f.set.Position(condition.Pos()), f.set.Position(condition.End())
	if begin.Line == end.Line {
		f.replace(condition.Pos(), condition.End(), "!("+f.lines[begin.Line-1][begin.Column-1:end.Column-1]+")")
	}
}

// drop leaves out one statement, where that may compile.
func (f *finder) drop(statements []ast.Stmt) {
	for _, statement := range statements {
		switch n := statement.(type) {
		case *ast.ExprStmt, *ast.SendStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
			f.replace(n.Pos(), n.End(), "")
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				f.replace(n.Pos(), n.End(), "")
			}
		case *ast.ReturnStmt:
			if len(n.Results) == 0 {
				f.replace(n.Pos(), n.End(), "")
			}
		}
	}
}

// errors replaces each error that a function returns by nil. Functions in its body are looked at by themselves.
func (f *finder) errors(function *ast.FuncType, body *ast.BlockStmt) {
	if function.Results == nil || body == nil {
		return
	}
	last := function.Results.List[len(function.Results.List)-1]
	if name, ok := last.Type.(*ast.Ident); !ok || name.Name != "error" {
		return
	}
	ast.Inspect(body, func(node ast.Node) bool {
		if n, ok := node.(*ast.ReturnStmt); ok && len(n.Results) == function.Results.NumFields() {
			if value := n.Results[len(n.Results)-1]; !isNil(value) {
				f.replace(value.Pos(), value.End(), "nil")
			}
		}
		_, inner := node.(*ast.FuncLit)
		return !inner
	})
}

func isNil(value ast.Expr) bool {
	name, ok := value.(*ast.Ident)
	return ok && name.Name == "nil"
}
