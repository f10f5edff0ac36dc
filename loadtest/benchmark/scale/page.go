package scale

import (
	_ "embed" // for the template
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/template"

	"locklab/internal/benchfile"
	"locklab/internal/marked"
	"locklab/loadtest/benchmark/page"
	"locklab/loadtest/benchmark/runner"
)

//go:embed page.md.tmpl
var source string

var text = template.Must(template.New("page").Funcs(template.FuncMap{"number": benchfile.Digits}).Parse(source))

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

// series are the tables that have all measured locks, by their name in the template.
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

// Write makes the page.
func Write(out io.Writer, saved benchfile.Saved) error {
	tables, model := measurements(saved.Runs), simulate(saved)
	tables["steps"], tables["check"], tables["far"] = stepTable(model.steps), checkTable(model.checks), farTable(model.far)
	return text.Execute(out, map[string]any{
		"Header": saved.Header, "Runs": len(saved.Runs), "Tables": tables, "Model": model,
		"Conclusions": []string{ofInstances(saved.Runs), ofRedis(saved), ofMasters(model)},
		"Spread":      spreads(saved.Runs), "Wander": wanders(saved.Runs), "Few": few, "BusyKeys": busyKeys, "Helpful": helpful,
		"Round": roundOfTurns(saved.Runs), "Instances": many,
		"Leases": turnLeases, "Turn": turnTime.Milliseconds(),
		"Redis": saved.Header.Versions["Redis"], "Etcd": saved.Header.Versions["etcd"],
	})
}

// measurements are the tables of what was measured.
func measurements(all benchfile.Runs) map[string]string {
	tables := map[string]string{"changes": changes(all), "yield": yieldRule(all), "redis": oneRedis(all)}
	for name, s := range series {
		tables[name] = s.Table(all)
	}
	return tables
}

// Tables prints the tables of measurements alone.
func Tables(out io.Writer, saved benchfile.Saved) error {
	var b strings.Builder
	for _, name := range []string{"burst", "sustained", "one", "keys"} {
		fmt.Fprintf(&b, "\n%s\n\n%s", name, series[name].Table(saved.Runs))
	}
	_, err := io.WriteString(out, b.String())
	return err
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

// spreads is the ratio of the fastest to the slowest run of a row: in the median row, and in the worst. 0: each row has one run.
func spreads(all benchfile.Runs) (s struct{ Median, Most float64 }) {
	var ratios []float64
	for _, w := range runner.Scale() {
		for _, lock := range w.Locks {
			if rates := all.Row(w.Name, lock).Figures(benchfile.Rate); len(rates) > 1 && benchfile.Quantile(rates, 0) > 0 {
				ratios = append(ratios, benchfile.Quantile(rates, 1)/benchfile.Quantile(rates, 0))
			}
		}
	}
	s.Median, s.Most = benchfile.Median(ratios), benchfile.Quantile(ratios, 1)
	return s
}

// roundOfTurns is in how many milliseconds each of many processes has had a turn; 0: it was not measured.
func roundOfTurns(all benchfile.Runs) float64 {
	took, perTurn, _ := spentBy(all, runner.ScaleSustained+strconv.Itoa(many))
	return took.clock / 1e3 * perTurn * many
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
		{"v3, no contention, 64 waiters on 64 keys", loose, "ours"},
		{"v3, contended, one key", runner.ScaleKeys + "1", "ours"},
		{"v3, contended, 4 keys", runner.ScaleKeys + "4", "ours"},
		{"v3, contended, 16 keys", runner.ScaleKeys + "16", "ours"},
		{"v3, contended, 64 keys", runner.ScaleKeys + "64", "ours"},
		{"v3, one waiter in each of 2 instances", runner.ScaleOne + "2", "ours"},
		{"v3, one waiter in each of 32 instances", handedOver, "ours"},
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
