package pageviews

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/pview"
)

var P1 = Experiments.Add(lab.Experiment{
	ID:       "P1-no-lock",
	Articles: lab.Articles{"A4"},
	Claim:    "Reading a counter, adding one and writing it back without a lock loses updates.",
	Level:    lab.Basic,
	Start:    true,
	Anomaly:  services.LostUpdate,
	Schedule: lab.Schedule{Takes: 3 * time.Second},
	Check:    services.LostViews,
	Variants: []lab.Variant{
		{Name: "one request at a time", Run: services.PageViews(services.Service{Version: "v1", Sequential: true})},
		{Name: "666 simultaneously", Expect: lab.Sometimes, Run: services.PageViews(services.Service{Version: "v1"})},
		{Name: "two, step by step", Expect: lab.Sometimes, Trials: 1, Run: clients.OnRedis(twoViews)},
	},
})

// twoViews lets a view of instance-2 run between the read and the write of a view of instance-1. A request over HTTP does not tell when
// it has read, and these views do.
func twoViews(ctx context.Context, x *clients.Redis) {
	view := func(instance string, meanwhile func()) {
		redis := watchedViews{Redis: x.Conn, t: x.Trial, instance: instance, meanwhile: meanwhile}
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
	pview.Redis
	t         *lab.Trial
	instance  string
	meanwhile func() // after the read
}

func (w watchedViews) record(kind history.Kind, value int64) {
	w.t.Record(history.Event{Timeline: w.instance, Owner: w.instance, Kind: kind, Key: pview.Key, Value: value})
}

// Get records the read.
func (w watchedViews) Get(ctx context.Context, key string) *redis.StringCmd {
	cmd := w.Redis.Get(ctx, key)
	value, _ := cmd.Int64() // a counter that does not exist is 0, and [pview.Counter] returns any other error
	w.record(history.Read, value)
	w.meanwhile()
	return cmd
}

// Set records the write.
func (w watchedViews) Set(ctx context.Context, key string, value any, expiry time.Duration) *redis.StatusCmd {
	cmd := w.Redis.Set(ctx, key, value, expiry)
	if written, ok := value.(int64); ok && cmd.Err() == nil {
		w.record(history.Write, written)
	}
	return cmd
}
