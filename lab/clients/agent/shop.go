package agent

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

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/order"
	"locklab/systems/shop"
)

// Command is what the lab sends to an agent of the shop.
type Command struct {
	Do    Do        `json:"do"`
	Began time.Time `json:"began,omitzero"` // Work: when the history's time began
	Shop  Shop      `json:"shop,omitzero"`  // Work
}

// Do is what a command does.
type Do string

// Shop says on what an agent of the shop works, and where it stops.
type Shop struct {
	Redis    string     `json:"redis"`    // host:port
	Database string     `json:"database"` // as order.Config has it
	Guard    shop.Guard `json:"guard"`
	Stop     string     `json:"stop"` // a [Step]; empty: nowhere
}

// The commands.
const (
	Work Do = "work" // on one message; the agent reports Work at the end, and Stopped at its stop
	Go   Do = "go"   // on, after its stop
)

// ShopSteps calls at before and after each command to Redis, and each INSERT: "before xack", "after shop_parcels". text is what a
// timeline shows of it; before it is empty.
func ShopSteps(conn redis.UniversalClient, db *gorm.DB, at func(step, text string)) error {
	conn.AddHook(EachCommand(func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
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

var shopRole = servers.Role("shop agent", serveShop)

// StartShop starts an agent of the shop.
func StartShop(t *lab.Trial, name string) *Process { return StartRole(t, shopRole, name) }

// worker is an agent of the shop.
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
		var command Command
		err := json.Unmarshal(lines.Bytes(), &command)
		if err == nil {
			w.began = command.Began
			err = w.work(context.Background(), command.Shop, lines)
		}
		if err != nil {
			w.report(Failed, err.Error())
		}
	}
	return 0
}

// work lets an agent have one message. At its stop it waits for the next line.
func (w *worker) work(ctx context.Context, task Shop, lines *bufio.Scanner) error {
	store, err := order.OpenStore(ctx, order.Config{Database: task.Database})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	conn := redis.NewClient(&redis.Options{Addr: task.Redis, MaxRetries: -1, DisableIdentity: true})
	defer conn.Close()
	err = ShopSteps(conn, store.DB(), func(step, text string) {
		if text != "" {
			w.report(history.Command, text)
		}
		if step == task.Stop {
			w.report(Stopped, "")
			lines.Scan()
		}
	})
	if err != nil {
		return err
	}
	next := shop.Worker{Name: "A", Queue: shop.Queue{Redis: conn}, Store: shop.New(store.DB(), 0), Guard: task.Guard, Idle: time.Hour}
	if worked, err := next.Next(ctx); err != nil || !worked {
		return fmt.Errorf("no message was worked on: %w", err)
	}
	w.report(history.Kind(Work), "")
	return nil
}
