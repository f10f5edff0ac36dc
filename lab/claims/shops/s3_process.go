package shops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab/clients"
	"locklab/systems/shop"
)

// atSteps calls at before and after each command to Redis, and each INSERT: "before xack", "after shop_parcels". text is what a
// timeline shows of it; before it is empty.
func atSteps(conn redis.UniversalClient, db *gorm.DB, at clients.AtStep) error {
	conn.AddHook(clients.EachCommand(func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		at("before "+cmd.Name(), "")
		err := send(ctx, cmd)
		at("after "+cmd.Name(), told(cmd))
		return err
	}))
	before := func(tx *gorm.DB) { at("before "+tx.Statement.Table, "") }
	after := func(tx *gorm.DB) {
		text := "INSERT INTO " + strings.TrimPrefix(tx.Statement.Table, "shop_")
		if tx.Error != nil {
			text += " → refused"
		}
		at("after "+tx.Statement.Table, text)
	}
	if err := db.Callback().Create().Before("gorm:create").Register("step before", before); err != nil {
		return err
	}
	return db.Callback().Create().After("gorm:create").Register("step after", after)
}

// told is a command of the queue or of a mark, with its reply; empty: it is another one.
func told(cmd redis.Cmder) string {
	name := strings.ToUpper(cmd.Name())
	switch c := cmd.(type) {
	case *redis.XAutoClaimCmd:
		messages, _ := c.Val()
		return fmt.Sprintf("%s → %d", name, len(messages))
	case *redis.XStreamSliceCmd:
		return fmt.Sprintf("%s → %d", name, len(c.Val()))
	case *redis.IntCmd:
		return fmt.Sprintf("%s → %d", name, c.Val())
	case *redis.BoolCmd:
		return fmt.Sprintf("%s NX → %v", name, c.Val())
	case *redis.StatusCmd:
		if name == "SET" {
			return name
		}
	}
	return ""
}

// queue is where a worker finds its messages, and how it guards its work.
type queue struct {
	Redis    string // host:port
	Database string // as database.Open takes it
	Guard    shop.Guard
}

// workOnce works on one message. Its steps are those of atSteps.
var workOnce = clients.NewTask("worker of the shop", func(ctx context.Context, of queue, at clients.AtStep) error {
	db, err := database.Open(ctx, of.Database)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	conn := redis.NewClient(&redis.Options{Addr: of.Redis, MaxRetries: -1, DisableIdentity: true})
	defer conn.Close()
	if err := atSteps(conn, db.DB, at); err != nil {
		return err
	}
	next := shop.Worker{Name: "A", Queue: shop.Queue{Redis: conn}, Store: shop.New(db.DB, 0), Guard: of.Guard, Idle: time.Hour}
	worked, err := next.Next(ctx)
	if err == nil && !worked {
		err = errors.New("no message was worked on")
	}
	return err
})
