package services

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab/clients"
	"locklab/systems/cache"
)

// CacheTask is what a client of the cache does in a process of its own.
type CacheTask = clients.Task[cacheServers]

type cacheServers struct {
	Redis    string // host:port
	Database string // as database.Open takes it
	Lease    time.Duration
}

// CacheClient is what a [CacheTask] acts with.
type CacheClient struct {
	*cache.Redis
	cacheServers                       // Lease is that of its lock
	Client       redis.UniversalClient // of Redis
	Items        *cache.Database
	DB           *gorm.DB
}

// NewCacheTask names a task. Its steps are the commands to Redis ("DEL item:7"), and "load".
func NewCacheTask(name string, do func(context.Context, *CacheClient) error) CacheTask {
	return clients.NewTask(name, func(ctx context.Context, of cacheServers, at clients.AtStep) error {
		client := redis.NewClient(clients.OneAttempt(of.Redis))
		client.AddHook(clients.EachCommand(func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
			if args := cmd.Args(); len(args) > 1 {
				at(fmt.Sprint(strings.ToUpper(cmd.Name()), " ", args[1]), "")
			}
			return send(ctx, cmd)
		}))
		db, err := database.Open(ctx, of.Database)
		if err != nil {
			return err
		}
		items, err := cache.NewDatabase(ctx, db.DB, 0)
		if err != nil {
			return err
		}
		r, err := cache.NewRedis(client, stoppingReader{items, at}, cache.Config{Prefix: "item:", TTL: CacheTTL})
		if err != nil {
			return err
		}
		return do(ctx, &CacheClient{r, of, client, items, db.DB})
	})
}

// KillProcess starts a process with a task, waits until it has stopped before a step, and kills it there.
func (x *Cache) KillProcess(ctx context.Context, name string, task CacheTask, stop string) {
	of := cacheServers{x.Node.Addr, x.Database, x.Scaled(clients.ProcessLease)}
	p := task.Start(ctx, x.Trial, name, of, stop)
	x.Note(name, "stopped before "+p.Step)
	p.Kill()
}

type stoppingReader struct {
	cache.Reader
	at clients.AtStep
}

func (r stoppingReader) Get(ctx context.Context, id uint64) (cache.Item, error) {
	r.at("load", "")
	return r.Reader.Get(ctx, id)
}
