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
	"locklab/experiments"
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

// stopped is what a process prints when it has come to where it stops; other lines say what has failed.
const stopped = "stopped"

// CacheProcess is a client of the cache in a process of its own, that stops between two steps.
type CacheProcess struct {
	t     *experiments.Trial
	name  string
	w     *stack.Worker
	lines chan string
}

// StartCacheProcess starts a process with a task.
func (x *Cache) StartCacheProcess(name string, task CacheTask) *CacheProcess {
	task.Redis, task.Database, task.Item = x.Node.Addr, x.Database, Item
	w, err := x.Stack.Worker(cacheRole, "cache-"+name)
	x.Must(err)
	p := &CacheProcess{t: x.Trial, name: name, w: w, lines: make(chan string, 10)}
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer close(p.lines)
		for lines := bufio.NewScanner(w.Out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	x.Cleanup(func() error {
		err := errors.Join(w.In.Close(), w.Stop())
		<-received
		return errors.Join(err, w.Out.Close())
	})
	text, err := json.Marshal(task)
	if err == nil {
		_, err = w.In.Write(append(text, '\n'))
	}
	x.Must(err)
	return p
}

// KillWhenStopped waits until the process has stopped between two steps, and kills it there.
func (p *CacheProcess) KillWhenStopped(ctx context.Context) {
	select {
	case line := <-p.lines:
		if !strings.HasPrefix(line, stopped) {
			p.t.Must(fmt.Errorf("%s: it did not stop: %q", p.name, line))
		}
		p.t.Note(p.name, line)
	case <-ctx.Done():
		p.t.Must(fmt.Errorf("%s has not stopped: %w", p.name, ctx.Err()))
	}
	p.w.Kill()
	proof, err := p.w.Ended()
	p.t.Record(history.Event{Timeline: p.name, Kind: history.Die, Text: fmt.Sprintf("process %d was killed", p.w.PID())})
	p.t.Fault(p.name, Killed, proof)
	p.t.Must(err)
}

var cacheRole = stack.Role("cache client", serveCache)

// serveCache carries out one task, and then waits until in ends.
func serveCache(in io.Reader, out io.Writer) int {
	lines := bufio.NewScanner(in)
	lines.Scan()
	var task CacheTask
	err := json.Unmarshal(lines.Bytes(), &task)
	if err == nil {
		err = task.carryOut(context.Background(), out)
	}
	fmt.Fprintln(out, "it ended:", err)
	for lines.Scan() {
		continue
	}
	return 0
}

func (c CacheTask) carryOut(ctx context.Context, out io.Writer) error {
	stop := stopper{c.Stop, out}
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
		err = acknowledgeFirst(ctx, stream, r)
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

// acknowledgeFirst is [changes.Stream.Consume] with two steps exchanged.
func acknowledgeFirst(ctx context.Context, s changes.Stream, to cache.Deleter) error {
	return s.Consume(ctx, "A", acknowledging{s, to})
}

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
	before string
	out    io.Writer
}

func (s stopper) step(what string) {
	if s.before != "" && strings.HasPrefix(what, s.before) {
		fmt.Fprintln(s.out, stopped, "before", what)
		select {} // until the process is killed
	}
}

// DialHook implements [redis.Hook].
func (s stopper) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (s stopper) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
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
