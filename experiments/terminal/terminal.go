// Package terminal lays out results for people: tables, line breaks and colours. It imports nothing of ours.
//
// What is NOT guaranteed: only the cells of a table are free of control characters. Other text from a file goes through [Printable].
package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Width is how many columns a line of text has.
const Width = 110

// The colours of [Paint].
const (
	Green  = text.FgGreen
	Yellow = text.FgYellow
	Red    = text.FgRed
)

// Trusted is text that a table shows as it is. It may contain colours and line breaks.
type Trusted string

// Table is a table of a few columns, without a border.
type Table struct{ writer table.Writer }

// NewTable returns a table with a header and no rows.
func NewTable(header ...string) Table {
	t := Table{table.NewWriter()}
	t.writer.SetStyle(table.StyleLight)
	t.writer.Style().Options = table.Options{SeparateHeader: true}
	t.writer.Style().Format.Header = text.FormatDefault
	t.writer.AppendHeader(cells(header))
	return t
}

// Right aligns columns to the right, by their header.
func (t Table) Right(columns ...string) Table {
	var configs []table.ColumnConfig
	for _, name := range columns {
		configs = append(configs, table.ColumnConfig{Name: name, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.writer.SetColumnConfigs(configs)
	return t
}

// Row appends a row. Every cell but a [Trusted] one is made printable.
func (t Table) Row(values ...any) { t.writer.AppendRow(cells(values)) }

// Len is the number of rows.
func (t Table) Len() int { return t.writer.Length() }

// String is the table in lines, without blanks at their ends.
func (t Table) String() string { return trimmed(t.writer.Render()) }

func cells[T any](values []T) (row table.Row) {
	for _, v := range values {
		if _, trusted := any(v).(Trusted); trusted {
			row = append(row, v)
		} else {
			row = append(row, Printable(fmt.Sprint(v)))
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

// Paint colours words, where colours are on.
func Paint(words string, colour text.Color, on bool) Trusted {
	if !on {
		return Trusted(words)
	}
	return Trusted(fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour, words))
}

// Printable replaces the control characters in text from a file: they could steer a terminal or change a page.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// PrintableLines is [Printable] for text of several lines.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// OneLine is [Printable] for text whose lines become parts of one: joined errors have a line each.
func OneLine(text string) string { return Printable(strings.ReplaceAll(text, "\n", "; ")) }

var blanks = regexp.MustCompile(`(?m) +$`)

func trimmed(lines string) string { return blanks.ReplaceAllString(lines, "") }
