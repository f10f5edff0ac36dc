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

func TestTextsStandWhereTheyStood(t *testing.T) {
	for name, want := range map[string]map[int]string{
		"code.go" + commentSuffix: {
			2: "on over lines, and a word at", 5: "      some code is not checked",
			15: "- and another, of the next line: together more than 25 words",
		},
		"code.go" + helpSuffix:       {15: "- Number of trials."},
		"code.go" + stringSuffix:     {22: "- lab run    break each lock, and see which one"},
		"script.lua" + commentSuffix: {3: "- KEYS[1] a key", 4: "- KEYS[2] another key,", 5: "- whose description goes on"},
	} {
		file := origin(name)
		source, err := os.ReadFile(filepath.Join("testdata", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(texts(file, source)[name], "\n")
		for line, text := range want {
			if lines[line-1] != text {
				t.Errorf("%s, line %d: got %q, want %q", name, line, lines[line-1], text)
			}
		}
	}
}
