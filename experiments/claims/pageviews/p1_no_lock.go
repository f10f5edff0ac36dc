package pageviews

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/pview"
)

var P1 = experiments.Experiment{
	ID:       "P1-no-lock",
	Articles: experiments.Articles{"A4"},
	Claim:    "Reading a counter, adding one and writing it back without a lock loses updates.",
	Says: `
		666 simultaneous requests without a lock leave the counter at 34, and there are duplicates in the two processes.`,
	Lesson: experiments.Lesson{
		Question: `
			Two instances count page views. Each request reads the counter, adds one and writes the result back, without a lock. 666 people open
			the page simultaneously. What does the counter say afterwards?`,
		Predict: "(a) 666. (b) 665 or a little less: two requests rarely meet. (c) Clearly less, and another number in each run.",
		Why: `
			(c). Updates are lost. Requests that read the same number write the same next number, and together they count as one. The more requests
			run simultaneously, the more of them read before the first one writes. The control loses nothing with the same code. So each request
			is correct alone, and only their interleaving loses updates.`,
		Fix: `
			Close the gap between the read and the write. One atomic command does that (v0). Otherwise use a lock that all instances share: then
			the requests read and write one after the other (v3, v4). A mutex in each process is not enough (v2).`,
		Limits: `
			How many updates are lost depends on the machine and on its load, so no number is the right one. A run without a loss would not prove
			that the code is correct. A test with one user finds nothing, as the control shows.`,
		Next: "P2-process-mutex adds a mutex to each process, and P3-redis-lock a lock that both processes share. P0-atomic needs no lock. By " +
			"hand: `app demo --versions v1 --rounds 5` shows how much the result varies.",
		Level: experiments.Basic,
		Start: true,
	},
	Drawing: `
instance-1   GET → 0             SET 1
instance-2            GET → 0            SET 1     two views, counted once`,
	How: `
		666 requests go to two instances in equal parts. The control sends them one after the other, another variant simultaneously. Two
		views run step by step, too: the second one reads and writes between the first one's read and its write.`,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 3 * time.Second},
	Check:    services.LostViews,
	Variants: []experiments.Variant{
		{Name: "one request at a time", Run: services.PageViews(services.Service{Version: "v1", Sequential: true})},
		{Name: "666 simultaneously", Expect: experiments.Sometimes, Run: services.PageViews(services.Service{Version: "v1"})},
		{Name: "two, step by step", Expect: experiments.Sometimes, Trials: 1, Run: clients.OnRedis(twoViews)},
	},
}

// twoViews lets a view of instance-2 run between the read and the write of a view of instance-1. A request over HTTP does not tell when
// it has read, and these views do.
func twoViews(ctx context.Context, x *clients.Redis) {
	view := func(instance string, meanwhile func()) {
		redis := watchedViews{Cmdable: x.Conn, t: x.Trial, instance: instance, meanwhile: meanwhile}
		_, err := pview.NewCounter(redis, nil).Increment(ctx, "none", lockstrategy.Guard{Strategy: lockstrategy.None{}})
		x.Must(err)
	}
	view("instance-1", func() { view("instance-2", func() {}) })
	n, err := pview.NewCounter(x.Conn, nil).Get(ctx)
	x.Must(err)
	x.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: pview.Key, Value: n})
}

// watchedViews is Redis as an instance sees it. It records the counter that was read or written.
type watchedViews struct {
	redis.Cmdable
	t         *experiments.Trial
	instance  string
	meanwhile func() // after the read
}

func (w watchedViews) record(kind history.Kind, value int64) {
	w.t.Record(history.Event{Timeline: w.instance, Owner: w.instance, Kind: kind, Key: pview.Key, Value: value})
}

// Get records the read.
func (w watchedViews) Get(ctx context.Context, key string) *redis.StringCmd {
	cmd := w.Cmdable.Get(ctx, key)
	value, _ := cmd.Int64() // a counter that does not exist is 0, and [pview.Counter] returns any other error
	w.record(history.Read, value)
	w.meanwhile()
	return cmd
}

// Set records the write.
func (w watchedViews) Set(ctx context.Context, key string, value any, expiry time.Duration) *redis.StatusCmd {
	cmd := w.Cmdable.Set(ctx, key, value, expiry)
	if written, ok := value.(int64); ok && cmd.Err() == nil {
		w.record(history.Write, written)
	}
	return cmd
}
