package shops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/shop"
)

var S3 = Experiments.Add(lab.Experiment{
	ID:       "S3-message-dedupe",
	Articles: lab.Articles{"A3"},
	Claim:    "A message that comes twice has one effect only if its mark and its work are one transaction.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 6 * time.Second},
	Check:    oneParcel,
	Variants: []lab.Variant{
		{Name: "no guard, nothing fails", Run: delivered(shop.NoGuard)},
		killedAt("no guard, killed before the acknowledgement", shop.NoGuard, "before xack", lab.Sometimes),
		killedAt("marked before, killed before the work", shop.MarkBefore, "before shop_parcels", lab.Sometimes),
		killedAt("marked after, killed before the mark", shop.MarkAfter, "before set", lab.Sometimes),
		slowAt("marked after, slow after its check", shop.MarkAfter, "after exists", lab.Sometimes),
		killedAt("one transaction, killed before the COMMIT", shop.OneTransaction, "after shop_parcels", lab.Never),
		killedAt("one transaction, killed before the acknowledgement", shop.OneTransaction, "before xack", lab.Never),
		slowAt("one transaction, slow", shop.OneTransaction, "after xreadgroup", lab.Never),
	},
})

// packing is a paid order with a message in the queue.
type packing struct {
	*clients.Redis
	database string
	shop     *services.ShopInstance
	order    uint64
}

func newPacking(ctx context.Context, t *lab.Trial) *packing {
	p := &packing{Redis: clients.StartRedis(ctx, t), database: services.SQLite(t, "shop.db")}
	p.shop = services.OpenShop(ctx, t, "shop", p.database)
	t.Must(p.shop.Stock(ctx, services.ShopItem, 1))
	o, err := p.shop.BuyAtomic(ctx, p.shop.Purchase(1))
	t.Must(err)
	t.Must(p.shop.ChangeAtomic(ctx, o.ID, shop.Paid))
	t.Must(shop.Queue{Redis: p.Conn}.Publish(ctx, o.ID))
	p.order = o.ID
	return p
}

// start lets A, a process of its own, read the message and stop at a step.
func (p *packing) start(ctx context.Context, guard shop.Guard, stop string) *clients.Process {
	return workOnce.Start(ctx, p.Trial, "A", queue{p.Node.Addr, p.database, guard}, stop)
}

// takeOver lets B work on all messages that are not acknowledged. It must find the one of A.
func (p *packing) takeOver(ctx context.Context, guard shop.Guard) {
	b := services.OpenShop(ctx, p.Trial, "B", p.database)
	conn := p.Conn
	p.Must(atSteps(conn, b.DB, func(_, text string) {
		if text != "" {
			p.Record(history.Event{Timeline: "B", Kind: history.Command, Text: text})
		}
	}))
	w := shop.Worker{Name: "B", Queue: shop.Queue{Redis: conn}, Store: b.Store, Guard: guard}
	worked, err := w.Next(ctx)
	if err == nil && !worked {
		err = errors.New("no message was left for B")
	}
	p.Must(err)
}

// parcelsUnit is the key of the number of parcels.
const parcelsUnit = "parcels of the order"

// record records the parcels that the database has.
func (p *packing) record(ctx context.Context) {
	o, err := p.shop.Order(ctx, p.order)
	p.Must(err)
	for _, parcel := range o.Parcels {
		p.Record(history.Event{Timeline: parcel.Worker, Kind: history.Win, Key: "the parcel", Text: "its parcel is in the database"})
	}
	p.Record(history.Event{Timeline: "database", Kind: history.Final, Key: parcelsUnit, Value: int64(len(o.Parcels)), Text: parcelsUnit})
}

// oneParcel finds an order with no parcel, or with several.
func oneParcel(trial []history.Event) (found []history.Violation) {
	var packed []int
	for _, e := range trial {
		switch {
		case e.Kind == history.Win:
			packed = append(packed, e.Seq)
		case e.Kind == history.Final && e.Key == parcelsUnit && e.Value == 0:
			found = append(found, history.Violation{What: "the message is lost: the order has no parcel", Events: []int{e.Seq}})
		case e.Kind == history.Final && e.Key == parcelsUnit && e.Value > 1:
			what := fmt.Sprintf("the message was worked on twice: the order has %d parcels", e.Value)
			found = append(found, history.Violation{What: what, Events: append(packed, e.Seq)})
		}
	}
	return found
}

func delivered(guard shop.Guard) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		p := newPacking(ctx, t)
		p.takeOver(ctx, guard)
		p.record(ctx)
	}
}

// killedAt is a variant in which A is killed before a step.
func killedAt(name string, guard shop.Guard, stop string, expect lab.Expect) lab.Variant {
	return lab.Variant{Name: name, Expect: expect, Fault: true, Run: func(ctx context.Context, t *lab.Trial) {
		p := newPacking(ctx, t)
		p.start(ctx, guard, stop).Kill()
		p.takeOver(ctx, guard)
		p.record(ctx)
	}}
}

// slowAt is a variant in which A continues after B has worked.
func slowAt(name string, guard shop.Guard, stop string, expect lab.Expect) lab.Variant {
	return lab.Variant{Name: name, Expect: expect, Run: func(ctx context.Context, t *lab.Trial) {
		p := newPacking(ctx, t)
		a := p.start(ctx, guard, stop)
		p.takeOver(ctx, guard)
		a.Finish(ctx)
		p.record(ctx)
	}}
}
