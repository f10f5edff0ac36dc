package services

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/systems/cache"
)

// CacheTask is what a client of the cache does in a process of its own.
type CacheTask struct {
	Do       CacheAction   `json:"do"`
	Redis    string        `json:"redis"`    // host:port
	Database string        `json:"database"` // as database.Open takes it
	Item     uint64        `json:"item"`
	Lease    time.Duration `json:"lease_ns"` // of its lock
	Stop     string        `json:"stop"`     // it stops before the command to Redis with this beginning ("DEL"), or before it loads ("load")
}

// CacheAction is the name of an action in such a process.
type CacheAction string

var cacheActions = make(map[CacheAction]func(context.Context, *CacheClient) error)

// NewCacheAction names an action. It is called for a variable of a package, because the process is this very binary.
func NewCacheAction(name CacheAction, do func(context.Context, *CacheClient) error) CacheAction {
	cacheActions[name] = do
	return name
}

// CacheClient is what an action acts with. Its process stops where the task says.
type CacheClient struct {
	*cache.Redis
	CacheTask
	Client redis.UniversalClient // of Redis
	Items  *cache.Database
	DB     *gorm.DB
}

// KillCacheProcess starts a process with a task, waits until it has stopped between two steps, and kills it there.
func (x *Cache) KillCacheProcess(ctx context.Context, name string, do CacheAction, stop string) {
	p := clients.StartRole(x.Trial, cacheRole, name)
	p.Send(CacheTask{do, x.Node.Addr, x.Database, Item, x.Scaled(clients.ProcessLease), stop})
	x.Note(name, p.Wait(ctx, clients.Stopped).Text)
	p.Kill()
}

var cacheRole = servers.Role("cache client", serveCache)

// serveCache carries out one task, and then waits until in ends.
func serveCache(in io.Reader, out io.Writer) int {
	lines, reports := bufio.NewScanner(in), json.NewEncoder(out)
	lines.Scan()
	var task CacheTask
	err := json.Unmarshal(lines.Bytes(), &task)
	if err == nil {
		err = task.carryOut(context.Background(), reports)
	}
	_ = reports.Encode(history.Event{Kind: clients.Failed, Text: fmt.Sprintf("it ended, and did not stop: %v", err)})
	for lines.Scan() {
		continue
	}
	return 0
}

func (c CacheTask) carryOut(ctx context.Context, reports *json.Encoder) error {
	do, known := cacheActions[c.Do]
	if !known {
		return fmt.Errorf("there is no action %q", c.Do)
	}
	step := func(what string) {
		if c.Stop != "" && strings.HasPrefix(what, c.Stop) {
			_ = reports.Encode(history.Event{Kind: clients.Stopped, Text: "stopped before " + what})
			select {} // until the process is killed
		}
	}
	client := redis.NewClient(clients.OneAttempt(c.Redis))
	client.AddHook(clients.EachCommand(func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		if args := cmd.Args(); len(args) > 1 {
			step(fmt.Sprint(strings.ToUpper(cmd.Name()), " ", args[1]))
		}
		return send(ctx, cmd)
	}))
	db, err := database.Open(ctx, c.Database)
	if err != nil {
		return err
	}
	items, err := cache.NewDatabase(ctx, db.DB, 0)
	if err != nil {
		return err
	}
	r, err := cache.NewRedis(client, stoppingReader{items, step}, cache.Config{Prefix: "item:", TTL: CacheTTL})
	if err != nil {
		return err
	}
	return do(ctx, &CacheClient{Redis: r, CacheTask: c, Client: client, Items: items, DB: db.DB})
}

type stoppingReader struct {
	cache.Reader
	step func(what string)
}

func (r stoppingReader) Get(ctx context.Context, id uint64) (cache.Item, error) {
	r.step("load")
	return r.Reader.Get(ctx, id)
}
