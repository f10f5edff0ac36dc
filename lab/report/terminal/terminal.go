// Package terminal writes results for people at a terminal. It has tables, line breaks and colours. Each command that prints a result has a
// function.
//
// What is NOT guaranteed: only the cells of a table are free of control characters. Other text from a file goes through
// [lab.Printable].
package terminal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"locklab/lab"
)

// widest is how many columns a line of text has at most: longer lines are hard to read.
const widest = 110

// Screen is what shows a result. The zero value is a file: it has the widest lines and no colours.
type Screen struct {
	Columns int // that a line may have; 0: not known
	Colour  bool
}

// AtMost is the screen with at most so many columns. A file has as many.
func (s Screen) AtMost(columns int) Screen {
	if s.Columns == 0 || s.Columns > columns {
		s.Columns = columns
	}
	return s
}

// Wrap breaks words into lines that fit. taken is how many columns stand before them.
func (s Screen) Wrap(words string, taken int) string {
	columns := widest
	if s.Columns > 0 {
		columns = min(columns, s.Columns)
	}
	return Wrap(words, max(columns-taken, 20))
}

// Fit breaks lines of prose that are wider than the terminal. taken is how many columns stand before them, and before the lines that
// follow. A file keeps its lines: a program may read them.
func (s Screen) Fit(prose string, taken int) string {
	if s.Columns == 0 {
		return prose
	}
	lines := strings.Split(prose, "\n")
	for i, line := range lines {
		if text.StringWidthWithoutEscSequences(line)+taken > s.Columns {
			lines[i] = strings.ReplaceAll(s.wrapPainted(line, taken), "\n", "\n"+strings.Repeat(" ", taken))
		}
	}
	return strings.Join(lines, "\n")
}

// wrapPainted wraps words without their colours, which the library would take to the end, and puts them back. Words that a line break parts
// lose theirs.
func (s Screen) wrapPainted(words string, taken int) string {
	wrapped := s.Wrap(paint.ReplaceAllString(words, "$1"), taken)
	for _, painted := range paint.FindAllStringSubmatch(words, -1) {
		wrapped = strings.Replace(wrapped, painted[1], painted[0], 1)
	}
	return wrapped
}

// Colour is one of [Paint], as a terminal is told.
type Colour string

// The colours of [Paint]. Green is for what is good for the reader, and Red for a loss. Alarm, white on red, is for a loss that nobody
// predicted.
const (
	Green  Colour = "32"
	Yellow Colour = "33"
	Red    Colour = "31"
	Alarm  Colour = "97;41"
)

// Trusted is text that a table shows as it is. It may contain colours and line breaks.
type Trusted string

// Table is a table of a few columns, without a border.
type Table struct{ *content }

type content struct {
	writer  table.Writer
	header  []string
	columns []column
}

type column struct {
	align         text.Align
	widest, least int // its widest line, and its longest word: narrower than that it breaks words
}

// NewTable returns a table with a header and no rows.
func NewTable(header ...string) Table {
	t := Table{&content{table.NewWriter(), header, make([]column, len(header))}}
	t.writer.SetStyle(table.StyleLight)
	t.writer.Style().Options = table.Options{SeparateHeader: true}
	t.writer.Style().Format.Header = text.FormatDefault
	t.writer.AppendHeader(t.measured(cells(header)))
	return t
}

// Right aligns columns to the right, by their header.
func (t Table) Right(columns ...string) Table {
	for i, name := range t.header {
		if slices.Contains(columns, name) {
			t.columns[i].align = text.AlignRight
		}
	}
	return t
}

// Narrow breaks the lines of columns between words, so that they are only as wide as that.
func (t Table) Narrow(width int, columns ...string) Table {
	for i, name := range t.header {
		if c := &t.columns[i]; slices.Contains(columns, name) {
			c.widest = min(c.widest, max(width, c.least))
		}
	}
	return t
}

// Row appends a row. Every cell but a [Trusted] one is made printable.
func (t Table) Row(values ...any) { t.writer.AppendRow(t.measured(cells(values))) }

// Len is the number of rows.
func (t Table) Len() int { return t.writer.Length() }

// String is the table in lines, without blanks at their ends.
func (t Table) String() string { return t.In(Screen{}) }

// In is the table on a screen. Where it is wider than the terminal, the widest columns break their lines between words.
func (t Table) In(s Screen) string {
	var configs []table.ColumnConfig
	for i, width := range t.widths(s.Columns) {
		align := t.columns[i].align
		configs = append(configs, table.ColumnConfig{
			Number: i + 1, Align: align, AlignHeader: align, WidthMax: width, WidthMaxEnforcer: text.WrapSoft,
		})
	}
	t.writer.SetColumnConfigs(configs)
	return trimmed(t.writer.Render())
}

// measured notes how wide a row is.
func (t Table) measured(row table.Row) table.Row {
	for i := range min(len(row), len(t.columns)) {
		c, cell := &t.columns[i], fmt.Sprint(row[i])
		for line := range strings.Lines(cell) {
			c.widest = max(c.widest, text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")))
		}
		for word := range strings.FieldsSeq(cell) {
			c.least = max(c.least, text.StringWidthWithoutEscSequences(word))
		}
	}
	return row
}

// widths are those of the columns in so many of the terminal's; 0: not known.
func (t Table) widths(columns int) (widths []int) {
	const beside = 2 // blanks of each column
	all := 0
	for _, c := range t.columns {
		widths, all = append(widths, c.widest), all+c.widest+beside
	}
	for ; columns > 0 && all > columns; all-- {
		widest := -1
		for i, width := range widths {
			if width > t.columns[i].least && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break // what is left are words
		}
		widths[widest]--
	}
	return widths
}

func cells[T any](values []T) (row table.Row) {
	for _, v := range values {
		if _, trusted := any(v).(Trusted); trusted {
			row = append(row, v)
		} else {
			row = append(row, lab.Printable(fmt.Sprint(v)))
		}
	}
	return row
}

// Wrap breaks words into lines of at most so many columns.
func Wrap(words string, columns int) string { return trimmed(text.WrapSoft(words, columns)) }

// Indent moves every line of words two columns to the right.
func Indent(words string) string { return "  " + strings.ReplaceAll(words, "\n", "\n  ") }

// Beside sets two blocks of text next to each other.
func Beside(left, right string) string {
	t := table.NewWriter()
	t.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: "   "}})
	t.AppendRow(table.Row{left, right})
	return trimmed(t.Render())
}

// Paint colours words, where colours are on. Without a colour they stay as they are.
func Paint(words string, colour Colour, on bool) Trusted {
	if !on || colour == "" {
		return Trusted(words)
	}
	return Trusted(fmt.Sprintf("\x1b[%sm%s\x1b[0m", colour, words))
}

var paint = regexp.MustCompile("\x1b\\[[\\d;]+m(.+?)\x1b\\[0m") // as [Paint] does

var blanks = regexp.MustCompile(`(?m) +$`)

func trimmed(lines string) string { return blanks.ReplaceAllString(lines, "") }
