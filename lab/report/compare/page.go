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
		{"speed", c.speed(), true, onBackends},
		{"fairness", locks([]column{
			{"sections per second", c.median(sustained, "%s", benchfile.Rate)},
			{"of a run without a lock", c.ratio(sustained, "limit", benchfile.Rate)},
			{"Jain, waiters", c.median(sustained, "%s", benchfile.Jain)},
			{"Jain, processes", c.median(sustained, "%s", benchfile.JainProcesses)},
		}), true, onBackends},
		{"failure", locks([]column{
			{"a dead holder's key stays locked", c.dead},
			{"time without a grant after the leader's death", c.gap},
			{"the minority side answers", c.minority},
			{"anomalies with a violation", c.violated},
		}), false, nil},
		{"libraries", c.origin() + "\n" + c.libraries(), true, []string{librariesAlone, librariesBurst, libraries}},
	}
}

// column is a column of a table of the locks.
type column struct {
	name string
	cell func(Facts) Cell
}

// speed is the table of what the benchmark says of a lock and of a burst.
func (c Comparison) speed() string {
	library := func(f Facts) Cell {
		cell := c.burst(f.Library)
		if f.Library != "" {
			cell.Text += " (" + f.Library + ")"
		}
		return cell
	}
	return locks([]column{
		{"lock and unlock, median", c.median(alone, "%s µs", benchfile.WaitP50)},
		{"p99", c.median(alone, "%s µs", benchfile.WaitP99)},
		{"lock and unlock, × v3", c.ratio(alone, "ours", benchfile.WaitP50)},
		{"burst of 666", func(f Facts) Cell { return c.burst(f.Bench) }},
		{"burst, × v3", c.ratio(together, "ours", benchfile.Seconds)},
		{"bare", func(f Facts) Cell { return c.burst(f.Bare) }},
		{"library", library},
		{"work", c.median(alone, "%s", benchfile.Commands)},
	})
}

// median is that of a lock's runs under a workload.
func (c Comparison) median(workload, format string, of benchfile.Figure) func(Facts) Cell {
	return func(f Facts) Cell { return measured(format)(c.bench.Median(workload, f.Bench, of)) }
}

// ratio is a lock's median against that of another row.
func (c Comparison) ratio(workload, to string, of benchfile.Figure) func(Facts) Cell {
	return func(f Facts) Cell { return measured("%s")(c.bench.Ratio(workload, f.Bench, to, of)) }
}

// origin says where the speed is from.
func (c Comparison) origin() string {
	if len(c.bench.Runs) == 0 {
		return "There is no file of the benchmark: `make bench` makes it.\n"
	}
	return fmt.Sprintf("`make bench` on %s, tree `%s`. Machine: %s.\n", c.bench.Date, c.bench.Stamp, c.bench.Machine)
}

// locks is a table with a row for each lock.
func locks(columns []column) string {
	var names []string
	for _, column := range columns {
		names = append(names, column.name)
	}
	var rows [][]string
	for _, f := range facts {
		var all []Cell
		for _, column := range columns {
			all = append(all, column.cell(f))
		}
		rows = append(rows, cells(f.Name(), all))
	}
	return table("lock", names, rows)
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
