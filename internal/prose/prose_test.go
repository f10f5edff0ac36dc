package main

import (
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
		// Not testenv.Skip: Vale is built from source, and `make prose` runs this test.
		t.Skip("VALE is not the command that runs Vale; `make prose` sets it")
	}
	fixtures, files := t.TempDir(), []string{"page.md", "page.md.tmpl", "code.go", "script.lua", "Makefile", "ignored.yml"}
	for _, name := range files {
		source, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err == nil {
			err = os.WriteFile(filepath.Join(fixtures, name), source, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..") // where .vale.ini is
	got, err := lint(vale, fixtures, files)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(got, "\n") + "\n"; got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextsStandWhereTheyStood(t *testing.T) {
	for name, want := range map[string]map[int]string{
		"code.go" + commentSuffix: {
			2: "on over lines, and a word at", 5: "      some code is not checked",
			15: "- and another, of the next line: together more than 25 words",
		},
		"code.go" + helpSuffix:   {15: "- Number of trials."},
		"code.go" + stringSuffix: {22: "- lab run    break each lock, and see which one"},
	} {
		file := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, commentSuffix), helpSuffix), stringSuffix)
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
