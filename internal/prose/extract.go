package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Suffixes of a file's name for the parts of its prose. .vale.ini has sections for them.
const (
	commentSuffix = ".comment.md"
	helpSuffix    = ".help.md"
	stringSuffix  = ".string.md"
)

// sentence is what a string must contain to be prose, and no key, name or format.
var sentence = regexp.MustCompile(`[A-Za-z]+ [a-z]+ [a-z]+`)

// texts returns what Vale shall read of a file, by the name to read it under.
func texts(name string, source []byte) map[string]string {
	switch {
	case filepath.Ext(name) == ".go":
		return goTexts(name, source)
	case filepath.Base(name) == "Makefile":
		return map[string]string{name + helpSuffix: makeHelp(string(source))}
	case strings.HasSuffix(name, ".min.js"): // of another project
		return nil
	}
	switch filepath.Ext(name) {
	case ".md", ".tmpl":
		return map[string]string{name: unindented(string(source))}
	case ".html", ".java", ".js", ".lua":
		return map[string]string{name: string(source)}
	}
	return nil
}

// continued is the indentation of a wrapped list item.
var continued = regexp.MustCompile(`(\S\n) {2,4}([A-Za-z(*_])`)

// unindented removes the indentation of wrapped list items, which changes nothing in Markdown. Vale does not report a
// match that begins on one line and ends on an indented one.
func unindented(source string) string { return continued.ReplaceAllString(source, "$1$2") }

// page is Markdown with one list item for each text, at the line of its origin.
type page []string

func newPage(source string) page { return make(page, strings.Count(source, "\n")+1) }

// item adds an item whose first line is at line, counted from 1. A second item on the same line continues the first.
func (p page) item(line int, text string) {
	for i, part := range strings.Split(text, "\n") {
		at := &p[min(line-1+i, len(p)-1)]
		switch {
		case *at != "":
			*at += " · " + strings.TrimSpace(part)
		case i == 0:
			*at = "- " + strings.TrimSpace(part)
		case strings.HasPrefix(part, "\t"): // code, as gofmt indents it in a comment
			*at = "      " + part[1:]
		default:
			*at = strings.TrimPrefix(part, " ")
		}
	}
}

func (p page) String() string { return strings.Join(p, "\n") }

// goTexts returns the comments, the help texts of kong, and the sentences in strings.
func goTexts(name string, source []byte) map[string]string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler says so
	}
	comments, helps, texts := newPage(string(source)), newPage(string(source)), newPage(string(source))
	for _, group := range file.Comments {
		comments.item(set.Position(group.Pos()).Line, comment(group))
	}
	tags := make(map[*ast.BasicLit]bool)
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Field:
			if node.Tag != nil {
				tags[node.Tag] = true
				if help := reflect.StructTag(unquoted(node.Tag)).Get("help"); help != "" {
					helps.item(set.Position(node.Tag.Pos()).Line, help)
				}
			}
		case *ast.BasicLit:
			if text := unquoted(node); !tags[node] && sentence.MatchString(text) {
				line := set.Position(node.Pos()).Line
				for i, part := range strings.Split(text, "\n") {
					if node.Value[0] == '"' {
						i = 0
					}
					texts.item(line+i, part)
				}
			}
		}
		return true
	})
	return map[string]string{name + commentSuffix: comments.String(), name + helpSuffix: helps.String(), name + stringSuffix: texts.String()}
}

// directive is a comment for a tool.
var directive = regexp.MustCompile(`^//[a-z0-9]+:[a-z].*`)

// comment is the text of a group of comments, line by line.
func comment(group *ast.CommentGroup) string {
	var lines []string
	for _, c := range group.List {
		text := directive.ReplaceAllString(c.Text, "")
		text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "//"), "/*"), "*/")
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

func unquoted(literal *ast.BasicLit) string {
	text, _ := strconv.Unquote(literal.Value)
	return text
}

// makeHelp returns what `make help` prints.
func makeHelp(source string) string {
	p := newPage(source)
	for i, line := range strings.Split(source, "\n") {
		if _, text, ok := strings.Cut(line, ": ## "); ok {
			p.item(i+1, text)
		}
	}
	return p.String()
}
