package scale

import (
	"fmt"
	"maps"
	"strconv"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/page"
	"locklab/loadtest/benchmark/runner"
)

// longestName says that the median is of the runs, each with its longest wait.
const longestName = "longest wait of a run, median, ms"

var (
	perSecond = page.Spread("sections per second, min / **med** / max", benchfile.Rate, 1)
	ofLimit   = page.Against("of limit", "limit", benchfile.Rate)
	ofLocal   = page.Against("of local", "local", benchfile.Rate)
	waiters   = page.Median("Jain, waiters", benchfile.Jain)
	processes = page.Median("Jain, processes", benchfile.JainProcesses)
	commands  = page.Median("commands", benchfile.Commands)
	longest   = page.Median(longestName, func(r benchfile.Run) float64 { return r.WaitMax / 1e3 })
	servers   = page.Median("µs CPU servers", benchfile.ServerCPU)
	clients   = page.Median("µs CPU clients", benchfile.ClientCPU)
)

// series are the tables that have all measured locks, by the names of their blocks.
var series = map[string]page.Series{
	"burst":     instances(runner.ScaleBurst, perSecond, ofLocal, commands, longest),
	"sustained": instances(runner.ScaleSustained, perSecond, ofLocal, waiters, processes, commands, longest, servers, clients),
	"one":       instances(runner.ScaleOne, perSecond, processes, commands, longest, servers, clients),
	"keys": {
		First: "keys", Workload: runner.ScaleKeys, Numbers: runner.ScaleKeyCounts,
		Columns: []page.Column{perSecond, ofLimit, waiters, commands, longest, servers, clients},
	},
}

func instances(workload string, columns ...page.Column) page.Series {
	return page.Series{First: "instances", Workload: workload, Numbers: runner.ScaleProcesses, Columns: columns}
}

// Blocks are the tables of docs/scale.md by their names. It is an error when the model has not all rows that it needs.
func Blocks(saved benchfile.Saved) (map[string]string, error) {
	model, err := simulate(saved)
	if err != nil {
		return nil, err
	}
	blocks := map[string]string{
		"measured": page.Caption(saved, spreads(saved.Runs)...),
		"steps":    stepTable(model.steps), "check": checkTable(model.checks), "far": farTable(model.far),
	}
	maps.Copy(blocks, Measurements(saved.Runs))
	return blocks, nil
}

// Measurements are the tables of what was measured.
func Measurements(all benchfile.Runs) map[string]string {
	tables := map[string]string{"changes": changes(all), "yield": yieldRule(all), "redis": oneRedis(all)}
	for name, s := range series {
		tables[name] = s.Table(all)
	}
	return tables
}

// yieldRule shows turns and shares of ours.
func yieldRule(all benchfile.Runs) string {
	var rows [][]string
	for _, n := range runner.ScaleProcesses {
		number := strconv.Itoa(n)
		many, one := all.Row(runner.ScaleSustained+number, "ours"), all.Row(runner.ScaleOne+number, "ours")
		if len(many) == 0 || len(one) == 0 {
			continue
		}
		rows = append(rows, []string{
			number, middle(many, sectionsPerTurn), middle(many, func(r benchfile.Run) float64 { return float64(r.Turns) / float64(n) }),
			shares(many), middle(many, func(r benchfile.Run) float64 { return r.WaitMax / 1e3 }),
			middle(one, func(r benchfile.Run) float64 { return float64(r.Turns) / float64(n) }), shares(one),
			middle(one, func(r benchfile.Run) float64 { return r.WaitMax / 1e3 }),
		})
	}
	return marked.Table(0, []string{
		"instances", "sections in a turn", "turns of an instance in a run", "least and most served", longestName,
		"one waiter: turns of an instance", "least and most served", longestName,
	}, rows)
}

// spreads says how much faster the fastest run of a row is than the slowest: in the median row, and in the worst. It is no line of the
// caption where each row has one run.
func spreads(all benchfile.Runs) [][]string {
	var ratios []float64
	for _, w := range runner.Scale() {
		for _, lock := range w.Locks {
			if rates := all.Row(w.Name, lock).Figures(benchfile.Rate); len(rates) > 1 && benchfile.Quantile(rates, 0) > 0 {
				ratios = append(ratios, benchfile.Quantile(rates, 1)/benchfile.Quantile(rates, 0))
			}
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	median, worst := benchfile.Digits(benchfile.Median(ratios)), benchfile.Digits(benchfile.Quantile(ratios, 1))
	return [][]string{{"fastest / slowest run of a row", "median " + median + ", worst " + worst}}
}

func middle(row benchfile.Runs, of benchfile.Figure) string {
	return benchfile.Digits(benchfile.Median(row.Figures(of)))
}

// shares are those of the least and the most served process in the least even run. 1 is an even share.
func shares(row benchfile.Runs) string {
	least, most := 1.0, 1.0
	for _, r := range row {
		even := float64(len(r.Shares))
		if low, high := even*benchfile.Quantile(r.Shares, 0), even*benchfile.Quantile(r.Shares, 1); high-low >= most-least && even > 0 {
			least, most = low, high
		}
	}
	return fmt.Sprintf("%.2f to %.2f", least, most)
}

// sensible is the part of a Redis' processor that a plan should use: queues grow fast beyond it.
const sensible = 0.7

// oneRedis shows what one Redis can carry, from the processor time of a section.
func oneRedis(all benchfile.Runs) string {
	var rows [][]string
	for _, c := range []struct{ text, workload, lock string }{
		{"section alone, one client", runner.ScaleKeys + "1", "limit"},
		{"section alone, 64 clients", runner.ScaleKeys + "64", "limit"},
		{"v3, no contention, one waiter", runner.ScaleAlone + "1", "ours"},
		{"v3, no contention, 64 waiters on 64 keys", runner.ScaleAlone + "64", "ours"},
		{"v3, contended, one key", runner.ScaleKeys + "1", "ours"},
		{"v3, contended, 4 keys", runner.ScaleKeys + "4", "ours"},
		{"v3, contended, 16 keys", runner.ScaleKeys + "16", "ours"},
		{"v3, contended, 64 keys", runner.ScaleKeys + "64", "ours"},
		{"v3, one waiter in each of 2 instances", runner.ScaleOne + "2", "ours"},
		{"v3, one waiter in each of 32 instances", runner.ScaleOne + "32", "ours"},
	} {
		took, ok := all.Median(c.workload, c.lock, benchfile.ServerCPU)
		if !ok || took == 0 {
			continue
		}
		of, _ := all.Median(c.workload, c.lock, benchfile.Commands)
		rows = append(rows, []string{
			c.text, benchfile.Digits(of), benchfile.Digits(took / of), benchfile.Digits(took), round(1e6 / took), round(sensible * 1e6 / took),
		})
	}
	return marked.Table(1, []string{
		"load", "commands", "µs per command", "µs per section", "sections per second at 100 %", "at 70 %",
	}, rows)
}
