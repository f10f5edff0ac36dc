package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The linter must fail: each forbidden thing of the fixtures is found where it stands, and nothing else is. The rules
// have tests of their own beside them.
func TestFindings(t *testing.T) {
	vale := strings.Fields(os.Getenv("VALE"))
	if len(vale) == 0 {
		t.Skip("VALE is not the command that runs Vale; `make prose` sets it")
	}
	fixtures := make(map[string]string)
	for _, name := range []string{"page.md", "page.md.tmpl", "code.go", "script.lua", "Makefile", "ignored.yml"} {
		source, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(fixtures, texts(name, source))
	}
	want, err := os.ReadFile("testdata/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..") // where .vale.ini is
	findings, err := lint(vale, fixtures)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range findings {
		fmt.Fprintln(&got, f)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestExceptions(t *testing.T) {
	const list = `# The head of the file.

# A port has a number of it.
order of the addresses
unused phrase

without reason
`
	findings, err := unusedExceptions("list.txt", list, "The Order of the addresses.")
	if err != nil || len(findings) != 2 {
		t.Fatalf("%v, %v", findings, err)
	}
	for i, want := range []string{`list.txt:5: no text contains "unused phrase"`, `list.txt:7: no comment above "without reason"`} {
		if !strings.HasPrefix(findings[i].String(), want) {
			t.Errorf("got %s, want %s", findings[i], want)
		}
	}
}

func TestGoTexts(t *testing.T) {
	source, err := os.ReadFile("testdata/code.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts := goTexts("code.go", source)
	for suffix, want := range map[string]map[int]string{
		commentSuffix: {
			1: "- Package code has a gate. A comment goes", 2: "on over lines, and a word at", 5: "      a fence in code is not checked",
			14: "- and another, of the next line, are two sentences",
		},
		helpSuffix:   {13: "- Where the fence is (${default}).", 14: "- Name of the gate."},
		stringSuffix: {22: "- lab run    break each lock, and see which one"},
	} {
		lines := strings.Split(texts["code.go"+suffix], "\n")
		for line, text := range want {
			if lines[line-1] != text {
				t.Errorf("%s, line %d: got %q, want %q", suffix, line, lines[line-1], text)
			}
		}
	}
}
