package claims

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
)

// measure records a number, in the unit that text names.
func measure(t *experiments.Trial, lane string, value int64, unit string) {
	t.Record(history.Event{Timeline: lane, Kind: history.Measure, Value: value, Text: unit})
}

// measured finds the number of a lane in a unit.
func measured(events []history.Event, lane, unit string) (history.Event, bool) {
	for _, e := range events {
		if e.Kind == history.Measure && e.Timeline == lane && e.Text == unit {
			return e, true
		}
	}
	return history.Event{}, false
}

// requests asks a server how often clients have sent it one of some commands. What scripts call is part of their one
// request: those commands are not to be among them.
func requests(ctx context.Context, client redis.UniversalClient, sent []string) (n int64, err error) {
	info, err := client.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	return callsOf(info, sent), nil
}

// callsOf reads the numbers of calls of some commands from INFO commandstats.
func callsOf(info string, commands []string) (n int64) {
	for line := range strings.Lines(info) {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		var calls int64
		if _, err := fmt.Sscanf(stats, "calls=%d,", &calls); err == nil && slices.Contains(commands, name) {
			n += calls
		}
	}
	return n
}

// median of a list that is not empty.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
