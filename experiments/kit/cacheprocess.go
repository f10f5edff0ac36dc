package kit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/cache"
	"locklab/cache/changes"
	"locklab/experiments/worker"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/stack"
)

// CacheTask is what a client of the cache does in a process of its own.
type CacheTask struct {
	Do       CacheDo         `json:"do"`
	Redis    string          `json:"redis"`    // host:port
	Database string          `json:"database"` // as order.Config has it
	Item     uint64          `json:"item"`
	Stop     string          `json:"stop"` // it stops for good before the command to Redis that begins so ("DEL"), or before it loads ("load")
	Binlog   *changes.Binlog `json:"binlog,omitempty"`
}

// CacheDo is what a task does.
type CacheDo string

// What a task can do.
const (
	ReadLocked        CacheDo = "read, with a lock that has a lease"
	ReadSETNX         CacheDo = "read, with SETNX"
	WriteThenDelete   CacheDo = "update, then delete"
	WriteWithLog      CacheDo = "update with a delete log"
	Consume           CacheDo = "consume changes"
	AcknowledgeFirst  CacheDo = "consume changes, acknowledged before the delete"
	Relay             CacheDo = "relay changes"
	SavePositionFirst CacheDo = "relay changes, the position saved first"
)

// ChangesStream is the stream of C6. What was delivered and not acknowledged goes to another consumer soon.
func ChangesStream(client redis.Cmdable) changes.Stream {
	return changes.Stream{Client: client, Key: "changes", Idle: 50 * time.Millisecond}
}

// KillCacheProcess starts a process with a task, waits until it has stopped between two steps, and kills it there.
func (x *Cache) KillCacheProcess(ctx context.Context, name string, task CacheTask) {
	task.Redis, task.Database, task.Item = x.Node.Addr, x.Database, Item
	p := worker.StartRole(x.Trial, cacheRole, name)
	p.Send(task)
	x.Note(name, p.Wait(ctx, worker.Stopped).Text)
	p.Kill()
}

var cacheRole = stack.Role("cache client", serveCache)

// serveCache carries out one task, and then waits until in ends.
func serveCache(in io.Reader, out io.Writer) int {
	lines, reports := bufio.NewScanner(in), json.NewEncoder(out)
	lines.Scan()
	var task CacheTask
	err := json.Unmarshal(lines.Bytes(), &task)
	if err == nil {
		err = task.carryOut(context.Background(), reports)
	}
	_ = reports.Encode(history.Event{Kind: worker.Failed, Text: fmt.Sprintf("it ended, and did not stop: %v", err)})
	for lines.Scan() {
		continue
	}
	return 0
}

func (c CacheTask) carryOut(ctx context.Context, reports *json.Encoder) error {
	stop := stopper{before: c.Stop, reports: reports}
	client := redis.NewClient(OneAttempt(c.Redis))
	client.AddHook(stop)
	store, err := order.OpenStore(ctx, order.Config{Database: c.Database})
	if err != nil {
		return err
	}
	items, err := cache.NewDatabase(ctx, store.DB(), 0)
	if err != nil {
		return err
	}
	r, err := cache.NewRedis(client, stoppingReader{items, stop}, cache.Config{Prefix: "item:", TTL: CacheTTL})
	if err != nil {
		return err
	}
	stream := ChangesStream(client)
	switch c.Do {
	case ReadSETNX:
		_, err = BareSETNX{r, client, time.Millisecond}.Get(ctx, c.Item)
	case ReadLocked:
		_, err = c.locked(ctx, r)
	case WriteThenDelete:
		_, err = cache.UpdateThenDelete{Database: items, Cache: r}.Put(ctx, c.Item, "by a process")
	case WriteWithLog:
		_, err = cache.DeleteLog{Database: items, Cache: r}.Put(ctx, c.Item, "by a process")
	case Consume:
		err = stream.Consume(ctx, "A", r)
	case AcknowledgeFirst:
		err = stream.Consume(ctx, "A", acknowledging{stream, r})
	case Relay:
		err = stream.Relay(ctx, c.source(store))
	case SavePositionFirst:
		err = savePositionFirst(ctx, stream, c.source(store))
	default:
		err = fmt.Errorf("there is no task %q", c.Do)
	}
	return err
}

func (c CacheTask) locked(ctx context.Context, r *cache.Redis) (cache.Item, error) {
	b, _, err := worker.Lock{Strategy: lockstrategy.NameRedis, Addrs: []string{c.Redis}, Lease: ProcessLease}.Connect(ctx)
	if err != nil {
		return cache.Item{}, err
	}
	lock, err := lockstrategy.Open(lockstrategy.NameRedis, b)
	if err != nil {
		return cache.Item{}, err
	}
	return cache.Locked{Cache: r, Lock: lockstrategy.Guard{Strategy: lock.Strategy}}.Get(ctx, c.Item)
}

func (c CacheTask) source(store *order.Store) changes.Source {
	if c.Binlog != nil {
		return c.Binlog
	}
	return changes.Outbox{DB: store.DB(), Table: cache.Table, Every: 5 * time.Millisecond}
}

// acknowledging exchanges two steps of [changes.Stream.Consume].
type acknowledging struct {
	changes.Stream
	to cache.Deleter
}

func (a acknowledging) Delete(ctx context.Context, id uint64) error {
	pending, err := a.Client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: a.Key, Group: a.Key, Start: "-", End: "+", Count: 1}).Result()
	for _, p := range pending {
		err = errors.Join(err, a.Client.XAck(ctx, a.Key, a.Key, p.ID).Err())
	}
	return errors.Join(err, a.to.Delete(ctx, id))
}

// savePositionFirst is [changes.Stream.Relay] with two steps exchanged.
func savePositionFirst(ctx context.Context, s changes.Stream, from changes.Source) error {
	after := s.Client.Get(ctx, s.Key+":position").Val() // "": from the beginning
	return from.Follow(ctx, after, func(c changes.Change) error {
		return errors.Join(
			s.Client.Set(ctx, s.Key+":position", c.After, 0).Err(),
			s.Client.XAdd(ctx, &redis.XAddArgs{Stream: s.Key, Values: []any{"id", c.ID}}).Err(),
		)
	})
}

// stopper stops its process before a command.
type stopper struct {
	worker.EachCommand
	before  string
	reports *json.Encoder
}

func (s stopper) step(what string) {
	if s.before != "" && strings.HasPrefix(what, s.before) {
		_ = s.reports.Encode(history.Event{Kind: worker.Stopped, Text: "stopped before " + what})
		select {} // until the process is killed
	}
}

// ProcessHook implements [redis.Hook].
func (s stopper) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 {
			s.step(fmt.Sprint(strings.ToUpper(cmd.Name()), " ", args[1]))
		}
		return next(ctx, cmd)
	}
}

type stoppingReader struct {
	cache.Reader
	stopper
}

func (r stoppingReader) Get(ctx context.Context, id uint64) (cache.Item, error) {
	r.step("load")
	return r.Reader.Get(ctx, id)
}
