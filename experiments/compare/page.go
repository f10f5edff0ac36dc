package compare

import (
	"fmt"
	"strings"
)

// table is one subject: a row for each lock.
type table struct {
	title string
	says  string
	names []string
	row   func(Lock) []Cell
}

var tables = []table{
	{
		"Speed", "Lock and unlock of one client without contention. Then a burst of 666 over two processes: behind the cohort, the same lock " +
			"without it, and the usual library. Work is what the servers executed for each lock and unlock: Redis commands (also in scripts), " +
			"SQL statements, packets or messages.",
		[]string{"lock and unlock, median", "p99", "× v3", "burst of 666", "× v3", "bare", "library", "work"},
		func(l Lock) []Cell {
			library := l.Library
			if l.Facts.Library != "" {
				library.Text += " (" + l.Facts.Library + ")"
			}
			return []Cell{l.P50, l.P99, l.Alone, l.Burst, l.ToV3, l.Bare, library, l.Requests}
		},
	},
	{
		"Fairness", "Two processes with 32 waiters each, which lock again and again. A section is the work under the lock. " +
			"Jain's index is 1 when all got the same.",
		[]string{"sections per second", "of a run without a lock", "Jain, waiters", "Jain, processes"},
		func(l Lock) []Cell { return []Cell{l.Rate, l.OfLimit, l.Jain, l.Even} },
	},
	{
		"Failure", "The times are medians of the runs. They depend on the leases and timeouts of these runs, which the linked pages name. " +
			"v5 was violated by a restart only while MariaDB wrote its log once a second, which is not its default.",
		[]string{
			"a dead holder's key stays locked", "time without a grant after the leader's death", "the minority side answers",
			"anomalies with a violation",
		},
		func(l Lock) []Cell { return []Cell{l.Dead, l.Gap, l.Minority, l.Violated} },
	},
	{
		"What each needs and does", "These are facts of the implementation. [The locks](lock.md) say more.",
		[]string{"servers", "tolerates the loss of", "fencing token", "waits by"},
		func(l Lock) []Cell {
			token := l.Token
			if token == "" {
				token = "**none**"
			}
			return []Cell{{Text: l.Servers}, {Text: l.Tolerates}, {Text: token}, {Text: l.Waits}}
		},
	},
}

// Tables are all tables as Markdown.
func (c Comparison) Tables() string {
	var b strings.Builder
	for _, t := range tables {
		names, rule := strings.Join(t.names, " | "), strings.Repeat("---|", len(t.names))
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| lock | %s |\n|---|%s\n", t.title, t.says, names, rule)
		for _, l := range c.Locks {
			fmt.Fprintf(&b, "| %s |", l.Name())
			for _, cell := range t.row(l) {
				fmt.Fprintf(&b, " %s |", cell.markdown())
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (c Cell) markdown() string {
	if len(c.By) == 0 {
		return c.Text
	}
	return c.Text + " (" + links(c.By) + ")"
}

// Page is docs/compare.md: which lock to take when, and the tables.
func (c Comparison) Page() string {
	var b strings.Builder
	b.WriteString("# Which lock to take\n\n<!-- written by `make compare` from saved runs and from the benchmark; do not edit -->\n\n")
	for i, conclusion := range c.Conclusions() {
		fmt.Fprintf(&b, "%d. %s\n", i+1, conclusion)
	}
	from := "There is no file of the benchmark: `make bench` makes it."
	if len(c.bench.Runs) > 0 {
		from = fmt.Sprintf("The speed is from `make bench` on %s, tree `%s`, in its groups `backends-…`. "+
			"A ratio is the median of the ratios inside one repetition, so it can differ from the ratio of the medians. "+
			"MariaDB wrote its log once a second; with this setting a crash loses locks ([F06](experiments/F06-redlock-amnesia.md)).",
			c.bench.Date, c.bench.Stamp)
	}
	const links = "[Every anomaly](matrix.md) · [the locks](lock.md)"
	fmt.Fprintf(&b, "\n%s \"Not tested\" and \"not measured\" say nothing. %s · %s\n\n%s", from, links, benchmark, c.Tables())
	return b.String()
}
