package marked

import "strings"

// Table is a table in Markdown. Its first columns, as many as text says, hold text. The others hold numbers, which are right-aligned.
func Table(text int, columns []string, rows [][]string) string {
	rule := make([]string, len(columns))
	for i := range rule {
		if rule[i] = "---"; i >= text {
			rule[i] = "--:"
		}
	}
	var b strings.Builder
	b.WriteString("| " + strings.Join(columns, " | ") + " |\n|" + strings.Join(rule, "|") + "|\n")
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

// Cell makes of any text one that fits into a table.
func Cell(text string) string { return strings.NewReplacer("\n", "; ", "|", `\|`).Replace(text) }
