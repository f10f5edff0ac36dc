package terminal

import (
	"fmt"
	"testing"

	"locklab/lab"
)

// Cells of a table cannot steer a terminal; trusted ones keep their colours and lines.
func TestTable(t *testing.T) {
	table := NewTable("name", "n").Right("n")
	table.Row("a\x1b[2J\nb", 7)
	table.Row(Paint("red", Red, true), Trusted("1\n2"))
	want := " name     n\n────────────\n a�[2J�b  7\n \x1b[31mred\x1b[0m      1\n          2"
	if got := table.String(); got != want || table.Len() != 2 {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// A table takes no more columns than the terminal has. Its widest cells break between words, and words stay whole.
func TestATableFitsTheTerminal(t *testing.T) {
	table := NewTable("what", "how many", "verdict").Right("how many")
	table.Row("one two three four five", 1234567, Paint("as expected", Green, true))
	table.Row("six", 1, "as expected")
	for columns, want := range map[int]string{
		0: " what                     how many  verdict\n────────────────────────────────────────────────\n" +
			" one two three four five   1234567  \x1b[32mas expected\x1b[0m\n six                             1  as expected",
		36: " what         how many  verdict\n────────────────────────────────────\n" +
			" one two       1234567  \x1b[32mas expected\x1b[0m\n three four\n" +
			" five\n six                 1  as expected",
	} {
		if got := table.In(Screen{Columns: columns}); got != want {
			t.Errorf("in %d columns:\n%s\n%q, want\n%s", columns, got, got, want)
		}
	}
}

// Prose that is wrapped keeps its colour where it was.
func TestAColourEndsWhereItEnded(t *testing.T) {
	prose := fmt.Sprintf("Verdict: %s. One two three four five six seven.", Paint("as expected", Green, true))
	want := "Verdict: \x1b[32mas expected\x1b[0m. One\ntwo three four five six\nseven."
	if got := (Screen{Columns: 25}).Fit(prose, 0); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Wrap("one two three", 8), "one two\nthree"},
		{Indent("a\nb"), "  a\n  b"},
		{Beside("long\nx", "1\n2\n3"), "long   1\nx      2\n       3"},
		{lab.PrintableLines("a\x1b\nb"), "a�\nb"},
		{lab.OneLine("a\nb\x07"), "a; b�"},
		{string(Paint("plain", Red, false)), "plain"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
