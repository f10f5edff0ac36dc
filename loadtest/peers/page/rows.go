package page

import (
	"slices"

	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/stats"
)

// rows are the runs of each lock under each workload.
type rows map[record.Key][]record.Run

// figure is a number of a run.
type figure func(record.Run) float64

func seconds(r record.Run) float64       { return r.Seconds }
func rate(r record.Run) float64          { return r.Rate }
func jain(r record.Run) float64          { return r.Jain }
func jainProcesses(r record.Run) float64 { return r.JainProcesses }
func waitP50(r record.Run) float64       { return r.WaitP50 }
func waitP99(r record.Run) float64       { return r.WaitP99 }
func waitMax(r record.Run) float64       { return r.WaitMax }
func commands(r record.Run) float64      { return r.Commands }
func reads(r record.Run) float64         { return r.Reads }
func perWaiter(r record.Run) float64     { return r.PerWaiter }
func serverCPU(r record.Run) float64     { return r.ServerCPU }
func clientCPU(r record.Run) float64     { return r.ClientCPU }

// redissonsTurns is the last process's share of the turns. Each of its sections is a turn; ours has several sections in one.
func redissonsTurns(r record.Run) float64 {
	if len(r.Shares) == 0 {
		return 0
	}
	return r.Shares[len(r.Shares)-1] * float64(r.Done) / float64(max(1, r.Turns))
}

func rowsOf(runs []record.Run) rows {
	all := rows{}
	for _, r := range runs {
		all[r.Key()] = append(all[r.Key()], r)
	}
	return all
}

// clean reports whether all waiters were served and no update was lost, except where that is shown.
func clean(r record.Run) bool {
	return r.Failed == 0 && (r.Lost == 0 || r.MayLose()) && r.Error == ""
}

// med is the median over the runs that are clean; false: there are none.
func (all rows) med(row record.Key, of figure) (float64, bool) {
	var sample []float64
	for _, r := range all[row] {
		if clean(r) && r.Seconds > 0 {
			sample = append(sample, of(r))
		}
	}
	return stats.Quantile(sample, 0.5), len(sample) > 0
}

// ratio is the median of a/b over the repetitions in which both were clean: a disturbance of one disturbed, more or less, the other.
func (all rows) ratio(workload, a, b string, of figure) (float64, bool) {
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

// best is the library with the least median; "": none was clean.
func (all rows) best(workload string, of figure) string {
	best, least := "", 0.0
	for _, lock := range order {
		if slices.Contains(ours, lock) || slices.Contains([]string{"ping", "limit", "local"}, lock) {
			continue
		}
		if m, ok := all.med(record.Key{Workload: workload, Lock: lock}, of); ok && (best == "" || m < least) {
			best, least = lock, m
		}
	}
	return best
}

// failures of all runs of a row together.
func (all rows) failures(row record.Key) (failed, lost int) {
	for _, r := range all[row] {
		failed, lost = failed+r.Failed, lost+r.Lost
	}
	return failed, lost
}

// figures of the runs that came to a result; a run that was interrupted has none.
func figures(runs []record.Run, of figure) []float64 {
	var sample []float64
	for _, r := range runs {
		if r.Seconds > 0 {
			sample = append(sample, of(r))
		}
	}
	return sample
}
