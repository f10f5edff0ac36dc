package page

import (
	"slices"

	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/stats"
)

// rows are the runs of each lock under each workload.
type rows map[record.Key][]record.Run

func rowsOf(runs []record.Run) rows {
	all := rows{}
	for _, r := range runs {
		all[r.Key()] = append(all[r.Key()], r)
	}
	return all
}

// clean reports whether everybody was served and nothing was lost that should not be.
func clean(r record.Run) bool {
	return r.Failed == 0 && (r.Lost == 0 || r.MayLose()) && r.Error == ""
}

// med is the median over the runs that are clean; false: there are none.
func (all rows) med(workload, lock string, of func(record.Run) float64) (float64, bool) {
	sample := figures(slices.DeleteFunc(slices.Clone(all[record.Key{Workload: workload, Lock: lock}]), func(r record.Run) bool { return !clean(r) }), of)
	return stats.Quantile(sample, 0.5), len(sample) > 0
}

// ratio is the median of a/b over the repetitions in which both were clean: what disturbed one disturbed,
// more or less, the other.
func (all rows) ratio(workload, a, b string, of func(record.Run) float64) (float64, bool) {
	var ratios []float64
	for _, x := range all[record.Key{Workload: workload, Lock: a}] {
		for _, y := range all[record.Key{Workload: workload, Lock: b}] {
			if x.Rep == y.Rep && clean(x) && clean(y) && of(y) != 0 {
				ratios = append(ratios, of(x)/of(y))
			}
		}
	}
	return stats.Quantile(ratios, 0.5), len(ratios) > 0
}

// best is the library with the least median; false: none was clean.
func (all rows) best(workload string, of func(record.Run) float64) (string, bool) {
	best, least := "", 0.0
	for key := range all {
		if key.Workload != workload || slices.Contains([]string{"ping", "limit", "local", "ours", "redlock", "naive"}, key.Lock) {
			continue
		}
		if m, ok := all.med(workload, key.Lock, of); ok && (best == "" || m < least || m == least && key.Lock < best) {
			best, least = key.Lock, m
		}
	}
	return best, best != ""
}

// failures of all runs of a row together.
func (all rows) failures(workload, lock string) (failed, lost int) {
	for _, r := range all[record.Key{Workload: workload, Lock: lock}] {
		failed, lost = failed+r.Failed, lost+r.Lost
	}
	return failed, lost
}

// figures of the runs that came to a result; one that broke off has none.
func figures(runs []record.Run, of func(record.Run) float64) []float64 {
	var sample []float64
	for _, r := range runs {
		if r.Seconds > 0 {
			sample = append(sample, of(r))
		}
	}
	return sample
}

func seconds(r record.Run) float64   { return r.Seconds }
func rate(r record.Run) float64      { return r.Rate }
func jain(r record.Run) float64      { return r.Jain }
func waitP50(r record.Run) float64   { return r.WaitP50 }
func commands(r record.Run) float64  { return r.Commands }
func reads(r record.Run) float64     { return r.Reads }
func perWaiter(r record.Run) float64 { return r.PerWaiter }
func serverCPU(r record.Run) float64 { return r.ServerCPU }
func clientCPU(r record.Run) float64 { return r.ClientCPU }
