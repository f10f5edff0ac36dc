package compare

import (
	"fmt"
	"slices"
	"strings"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
)

// Part is a part of docs/compare.md that no hand writes, by the name of its markers.
type Part struct {
	Name, Text string
	Bench      bool // it has what make bench measured
	groups     []string
}

// Parts are all of them, without those whose groups the benchmark did not measure while it measured others.
func (c Comparison) Parts() []Part {
	return slices.DeleteFunc(c.all(), func(p Part) bool {
		missing := func(group string) bool {
			return !slices.ContainsFunc(c.bench.Runs, func(r Run) bool { return r.Workload == group })
		}
		return len(c.bench.Runs) > 0 && slices.ContainsFunc(p.groups, missing)
	})
}

func (c Comparison) all() []Part {
	onBackends := []string{alone, together, sustained}
	return []Part{
		{"benchmark", c.origin(), true, onBackends},
		{"speed", c.table(
			[]string{
				"lock and unlock, median", "p99", "lock and unlock, × v3", "burst of 666", "burst, × v3", "bare", "library", "work",
			},
			func(l Lock) []Cell {
				library := l.Library
				if l.Facts.Library != "" {
					library.Text += " (" + l.Facts.Library + ")"
				}
				return []Cell{l.P50, l.P99, l.Alone, l.Burst, l.ToV3, l.Bare, library, l.Requests}
			},
		), true, onBackends},
		{"fairness", c.table(
			[]string{"sections per second", "of a run without a lock", "Jain, waiters", "Jain, processes"},
			func(l Lock) []Cell { return []Cell{l.Rate, l.OfLimit, l.Jain, l.Even} },
		), true, onBackends},
		{"failure", c.table(
			[]string{
				"a dead holder's key stays locked", "time without a grant after the leader's death", "the minority side answers",
				"anomalies with a violation",
			},
			func(l Lock) []Cell { return []Cell{l.Dead, l.Gap, l.Minority, l.Violated} },
		), false, nil},
		{"libraries", c.origin() + "\n" + c.libraries(), true, []string{librariesAlone, librariesBurst, libraries}},
	}
}

// origin says where the speed is from.
func (c Comparison) origin() string {
	if len(c.bench.Runs) == 0 {
		return "There is no file of the benchmark: `make bench` makes it.\n"
	}
	return fmt.Sprintf("`make bench` on %s, tree `%s`. Machine: %s.\n", c.bench.Date, c.bench.Stamp, c.bench.Machine)
}

// table has a row for each lock.
func (c Comparison) table(columns []string, row func(Lock) []Cell) string {
	var rows [][]string
	for _, l := range c.Locks {
		rows = append(rows, cells(l.Name(), row(l)))
	}
	return table("lock", columns, rows)
}

// table has text in all of its columns: a figure is often followed by words.
func table(first string, columns []string, rows [][]string) string {
	return marked.Table(1+len(columns), append([]string{first}, columns...), rows)
}

func cells(name string, all []Cell) []string {
	row := []string{name}
	for _, cell := range all {
		row = append(row, cell.markdown())
	}
	return row
}

// others are libraries that the benchmark measures beside v3.
var others = []string{
	"rueidislock", "rueidislock-mutex", "redsync", "redsync-mutex", "redsync5", "redislock", "redislock-mutex", "redisson", "redisson-fair",
	"etcd", "etcd-mutex",
}

// libraries is the table of what the benchmark says of other libraries.
func (c Comparison) libraries() string {
	var rows [][]string
	for _, name := range append([]string{"ours"}, others...) {
		rows = append(rows, cells(strings.Replace(name, "ours", "v3 Redis", 1), []Cell{
			measured("%s")(c.bench.Ratio(librariesAlone, name, "ours", benchfile.WaitP50)),
			c.libraryBurst(name),
			measured("%s")(c.bench.Ratio(libraries, name, "ours", benchfile.Rate)),
			measured("%s")(c.bench.Median(libraries, name, benchfile.Jain)),
		}))
	}
	return table("library", []string{
		"lock and unlock, time × v3", "burst of 666, time × v3", "sustained load, sections per second × v3", "Jain, waiters",
	}, rows)
}

// libraryBurst is how long a burst took, against v3. Where no run served all waiters, it says how many were served.
func (c Comparison) libraryBurst(name string) Cell {
	ratio := measured("%s")(c.bench.Ratio(librariesBurst, name, "ours", benchfile.Seconds))
	if worst, any := c.bench.failed(librariesBurst, name); any && !ratio.Known {
		return served(worst)
	}
	return ratio
}

func (c Cell) markdown() string {
	if len(c.By) == 0 {
		return c.Text
	}
	return c.Text + " (" + links(c.By) + ")"
}

// links lead to the pages of experiments, each once.
func links(ids []string) string {
	var all []string
	for _, id := range ids {
		if link := fmt.Sprintf("[%s](experiments/%s.md)", id, id); !slices.Contains(all, link) {
			all = append(all, link)
		}
	}
	return strings.Join(all, ", ")
}
