package pageviews

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/pview"
	"locklab/versions"
)

var P13 = Experiments.Add(lab.Experiment{
	ID:       "P13-watch",
	Articles: lab.Articles{"A1"},
	Claim: `
		WATCH, MULTI and EXEC on one connection lose no page view and grant a lock once, if the read comes after WATCH; a view needs
		several times the requests of INCR, and the more clients meet, the more.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}, Takes: 5 * time.Second},
	Check:    services.LostViews,
	Variants: []lab.Variant{
		{Name: "INCR", Run: clients.OnRedis(allViews(byINCR))},
		{Name: "WATCH, GET, EXEC", Run: clients.OnRedis(allViews(byWatch))},
		{Name: "GET, EXEC", Expect: lab.Sometimes, Run: clients.OnRedis(allViews(byExecAlone))},
		{Name: "WATCH, GET, EXEC, in step", Trials: 1, Run: clients.OnRedis(viewsInStep)},
		{Name: "WATCH before GET, step by step", Run: clients.OnRedis(watchBeside(watchThenGet))},
		{Name: "WATCH after GET, step by step", Expect: lab.Sometimes, Run: clients.OnRedis(watchBeside(getThenWatch))},
		{Name: "WATCH on another connection, step by step", Expect: lab.Sometimes, Run: clients.OnRedis(watchBeside(watchElsewhere))},
		{Name: "a lock by WATCH, GET, EXEC", Run: clients.OnRedis(viewsUnderWatchedLock)},
	},
})

var (
	attemptsPerView = lab.Tenths.Of("attempts per page view")
	requestsPerView = lab.Tenths.Of("requests per page view")
	triesPerGrant   = lab.Tenths.Of("attempts per grant of the lock")
)

// watchPool is how many connections each of the two instances has. So many page views of an instance run at the same moment, and the others
// wait for a connection.
const watchPool = 20

// watchInstance is one of two processes that count views, with connections of its own.
type watchInstance struct {
	client *redis.Client // not embedded: docs/decisions/0025
	name   string
}

func startWatchInstances(x *clients.Redis) (both [2]*watchInstance) {
	for i := range both {
		o := clients.OneAttempt(x.Node.Addr)
		o.PoolSize, o.PoolTimeout, o.ReadTimeout = watchPool, x.Scaled(time.Minute), x.Scaled(10*time.Second)
		both[i] = &watchInstance{redis.NewClient(o), fmt.Sprintf("instance-%d", i+1)}
		x.Cleanup(both[i].client.Close)
		x.Tap(both[i].client)
	}
	return both
}

// countView adds one to the counter. written is its new value, unless another client's write came between: then it is 0.
type countView func(ctx context.Context, i *watchInstance) (written int64, err error)

func byINCR(ctx context.Context, i *watchInstance) (int64, error) {
	return i.client.Incr(ctx, pview.Key).Result()
}

// byWatch is the loop's body of Redis's manual: EXEC does nothing if the counter was written after WATCH.
func byWatch(ctx context.Context, i *watchInstance) (written int64, err error) {
	err = i.client.Watch(ctx, func(tx *redis.Tx) error {
		if written, err = nextView(ctx, tx); err != nil {
			return err
		}
		return setView(ctx, tx.TxPipelined, written)
	}, pview.Key)
	return unlessRefused(written, err)
}

// byExecAlone has the commands of byWatch but WATCH.
func byExecAlone(ctx context.Context, i *watchInstance) (int64, error) {
	written, err := nextView(ctx, i.client)
	if err != nil {
		return 0, err
	}
	return written, setView(ctx, i.client.TxPipelined, written)
}

func nextView(ctx context.Context, from redis.Cmdable) (int64, error) {
	read, err := from.Get(ctx, pview.Key).Int64()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return read + 1, err
}

// setView sends MULTI, SET and EXEC.
func setView(ctx context.Context, pipelined func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error), value int64) error {
	_, err := pipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, pview.Key, value, 0).Err() })
	return err
}

// unlessRefused returns 0 without an error if EXEC did nothing.
func unlessRefused(written int64, err error) (int64, error) {
	if errors.Is(err, redis.TxFailedErr) {
		return 0, nil
	}
	return written, err
}

// allViews counts the 666 views at two instances, as many at the same moment as they have connections. A view is tried until it is counted.
func allViews(count countView) func(context.Context, *clients.Redis) {
	return func(ctx context.Context, x *clients.Redis) {
		both := startWatchInstances(x)
		var attempts atomic.Int64
		x.ByChance()
		x.GoEach(versions.ArticleUsers, func(n int) {
			i, written := both[n%2], int64(0)
			for written == 0 {
				var err error
				attempts.Add(1)
				written, err = count(ctx, i)
				x.Must(err)
			}
			recordView(x.Trial, i, fmt.Sprintf("request %d", n+1), history.Write, written)
		})()
		measureViews(ctx, x, versions.ArticleUsers, attempts.Load())
		recordCounter(ctx, x)
	}
}

// measureViews counts what views sent to Redis. MULTI, SET and EXEC arrive together, and are one request.
func measureViews(ctx context.Context, x *clients.Redis, views, attempts int64) {
	requests := clients.Requests(ctx, x.Trial, x.Conn, "incr", "get", "watch", "exec")
	x.Measure("both instances", 10*attempts/views, attemptsPerView)
	x.Measure("both instances", 10*requests/views, requestsPerView)
}

// viewsInStep counts views that have all read the counter before one of them writes it. EXEC refuses all but one, and these try again.
func viewsInStep(ctx context.Context, x *clients.Redis) {
	both, attempts := startWatchInstances(x), int64(0)
	left := make([]string, watchPool)
	for i := range left {
		left[i] = fmt.Sprintf("request %d", i+1)
	}
	for len(left) > 0 {
		attempts += int64(len(left))
		var refused []string
		for i, written := range writeTogether(ctx, x, both, len(left)) {
			if written == 0 {
				refused = append(refused, left[i])
				continue
			}
			recordView(x.Trial, both[i%2], left[i], history.Write, written)
		}
		left = refused
	}
	measureViews(ctx, x, watchPool, attempts)
	recordCounter(ctx, x)
}

// writeTogether lets n views write when all of them have read.
func writeTogether(ctx context.Context, x *clients.Redis, both [2]*watchInstance, n int) (written []int64) {
	var reading sync.WaitGroup
	reading.Add(n)
	allHaveRead := make(chan struct{})
	go func() { reading.Wait(); close(allHaveRead) }()
	written = make([]int64, n)
	x.GoEach(n, func(i int) {
		arrive := sync.OnceFunc(reading.Done)
		defer arrive() // also of a view that has failed
		var err error
		written[i], err = watchThenGet(ctx, both[i%2], func(int64) {
			arrive()
			<-allHaveRead
		})
		x.Must(err)
	})()
	return written
}

func recordView(t *lab.Trial, i *watchInstance, owner string, kind history.Kind, value int64) {
	t.Record(history.Event{Timeline: i.name, Owner: owner, Kind: kind, Key: pview.Key, Value: value})
}

func recordCounter(ctx context.Context, x *clients.Redis) {
	n, err := x.Conn.Get(ctx, pview.Key).Int64()
	x.Must(err)
	x.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: pview.Key, Value: n})
}

// heldUp is a view of an instance that calls meanwhile when it has read, once, and returns what it has read plus one.
type heldUp func(ctx context.Context, i *watchInstance, meanwhile func(read int64)) (written int64, err error)

func watchThenGet(ctx context.Context, i *watchInstance, meanwhile func(int64)) (written int64, err error) {
	err = i.client.Watch(ctx, func(tx *redis.Tx) error {
		if written, err = nextView(ctx, tx); err != nil {
			return err
		}
		meanwhile(written - 1)
		return setView(ctx, tx.TxPipelined, written)
	}, pview.Key)
	return unlessRefused(written, err)
}

func getThenWatch(ctx context.Context, i *watchInstance, meanwhile func(int64)) (written int64, err error) {
	if written, err = nextView(ctx, i.client); err != nil {
		return 0, err
	}
	meanwhile(written - 1)
	err = i.client.Watch(ctx, func(tx *redis.Tx) error { return setView(ctx, tx.TxPipelined, written) }, pview.Key)
	return unlessRefused(written, err)
}

// watchElsewhere sends MULTI, SET and EXEC to the pool, which has no reason to take the connection that watches.
func watchElsewhere(ctx context.Context, i *watchInstance, meanwhile func(int64)) (written int64, err error) {
	err = i.client.Watch(ctx, func(tx *redis.Tx) error {
		if written, err = nextView(ctx, tx); err != nil {
			return err
		}
		meanwhile(written - 1)
		return setView(ctx, i.client.TxPipelined, written)
	}, pview.Key)
	return unlessRefused(written, err)
}

// watchBeside lets a view of instance-2 be counted between the read and the write of a view of instance-1, which is repeated if EXEC does
// nothing.
func watchBeside(view heldUp) func(context.Context, *clients.Redis) {
	return func(ctx context.Context, x *clients.Redis) {
		both, counted := startWatchInstances(x), false
		beside := func(read int64) {
			recordView(x.Trial, both[0], "view 1", history.Read, read)
			if counted {
				return
			}
			counted = true
			written, err := watchThenGet(ctx, both[1], func(read int64) { recordView(x.Trial, both[1], "view 2", history.Read, read) })
			x.Must(err)
			recordView(x.Trial, both[1], "view 2", history.Write, written)
		}
		attempts := int64(0)
		for written := int64(0); written == 0; {
			var err error
			attempts++
			written, err = view(ctx, both[0], beside)
			x.Must(err)
			if written == 0 {
				x.Note(both[0].name, "EXEC → nil: the counter was written after WATCH")
				continue
			}
			recordView(x.Trial, both[0], "view 1", history.Write, written)
		}
		x.Measure(both[0].name, 10*attempts, attemptsPerView)
		recordCounter(ctx, x)
	}
}
