package shops

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
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/systems/shop"
)

// command is what the lab sends to a worker of the shop in a process of its own.
type command struct {
	Do    action    `json:"do"`
	Began time.Time `json:"began,omitzero"` // workOnce: when the history's time began
	Task  task      `json:"task,omitzero"`  // workOnce
}

// action is what a command does.
type action string

// task says on what the worker works, and where it stops.
type task struct {
	Redis    string     `json:"redis"`    // host:port
	Database string     `json:"database"` // as database.Open takes it
	Guard    shop.Guard `json:"guard"`
	Stop     string     `json:"stop"` // as atSteps names it; empty: nowhere
}

// The commands.
const (
	workOnce action = "work" // on one message; the worker reports it at the end, and clients.Stopped at its stop
	goOn     action = "go"   // on, after its stop
)

// atSteps calls at before and after each command to Redis, and each INSERT: "before xack", "after shop_parcels". text is what a
// timeline shows of it; before it is empty.
func atSteps(conn redis.UniversalClient, db *gorm.DB, at func(step, text string)) error {
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

var workerRole = servers.Role("worker of the shop", serveShop)

// startWorker starts a worker of the shop.
func startWorker(t *lab.Trial, name string) *clients.Process {
	return clients.StartRole(t, workerRole, name)
}

// worker works for the shop in a process of its own.
type worker struct {
	out   *json.Encoder
	began time.Time // of the history's time
}

// report sends an event, or the name of a command that is done.
func (w *worker) report(what history.Kind, text string) {
	_ = w.out.Encode(history.Event{Kind: what, At: time.Since(w.began), Text: text}) // without the lab this process ends
}

// serveShop works on one message for each command, until in ends.
func serveShop(in io.Reader, out io.Writer) int {
	lines := bufio.NewScanner(in)
	w := &worker{out: json.NewEncoder(out)}
	for lines.Scan() {
		var c command
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			w.began = c.Began
			err = w.work(context.Background(), c.Task, lines)
		}
		if err != nil {
			w.report(clients.Failed, err.Error())
		}
	}
	return 0
}

// work works on one message. At its stop it waits for the next line.
func (w *worker) work(ctx context.Context, t task, lines *bufio.Scanner) error {
	db, err := database.Open(ctx, t.Database)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	conn := redis.NewClient(&redis.Options{Addr: t.Redis, MaxRetries: -1, DisableIdentity: true})
	defer conn.Close()
	err = atSteps(conn, db.DB, func(step, text string) {
		if text != "" {
			w.report(history.Command, text)
		}
		if step == t.Stop {
			w.report(clients.Stopped, "")
			lines.Scan()
		}
	})
	if err != nil {
		return err
	}
	next := shop.Worker{Name: "A", Queue: shop.Queue{Redis: conn}, Store: shop.New(db.DB, 0), Guard: t.Guard, Idle: time.Hour}
	if worked, err := next.Next(ctx); err != nil || !worked {
		return fmt.Errorf("no message was worked on: %w", err)
	}
	w.report(history.Kind(workOnce), "")
	return nil
}
