package shops

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/shop"
)

var S4 = experiments.Experiment{
	ID:       "S4-state-change",
	Title:    "An order that is paid and cancelled",
	Articles: experiments.Articles{"A3"},
	Claim:    "Paying and cancelling at the same time leaves an order both paid and cancelled, unless a lock or the UPDATE excludes it.",
	Says:     "The change of an order is one of the four cases for a lock: the order's id is what the changes share.",
	Lesson: experiments.Lesson{
		Question: `
			A buyer pays an order, and cancels it at the same moment in another window. Each instance reads the state, finds the order placed,
			and writes the new state. What is the order in the end, and what were the two requests told?`,
		Predict: `
			(a) It has the state of the last write, and the other request was refused. (b) It has that state, and both were told that they
			succeeded. (c) The database refuses the second write.`,
		Why: `
			(b). Both requests read the state before the other one wrote. The last write decides the state. The buyer has paid for an order
			that is cancelled, or the piece is back in stock and sold. The database has executed two correct statements, and knows of no rule.`,
		Fix: `
			Write the allowed old state into the UPDATE: SET state = paid WHERE id = 1 AND state = placed. A change of no row means that the
			order has moved on. This is a small state machine, and the database keeps it. It needs no lock, and a late retry does no harm.`,
		Limits: `
			The money itself moves in another system, and no condition of this database reaches that. There, reserve first and confirm after the
			UPDATE, or pay back when it changes no row. A lock that ends early lets both through, as in L05. The
			callers are goroutines of one program.`,
		Next: "G6-conditional-update and S1-oversell have the same condition. S3-message-dedupe packs the parcel of a paid order. " +
			"By hand: docs/shop.md.",
		Level: experiments.Basic,
	},
	Drawing: `
A pays      reads placed                   writes paid        "it is paid"
B cancels                 reads placed   writes cancelled     "it is cancelled"`,
	How: `
		An order is placed. A pays it and B cancels it. A reads the state, and B begins. A writes only after B has read, or after 300 ms where
		something keeps B out. In the control B comes when A is done. Each change that a client was told of is a row, written in the
		transaction of the change.`,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    paidAndCancelled,
	Variants: []experiments.Variant{
		{Name: "read and write, one after the other", Run: services.InShop(lockstrategy.NameNone, 1, paidThenCancelled)},
		{
			Name: "read and write", Expect: experiments.Sometimes,
			Run: services.InShop(lockstrategy.NameNone, 1, payBesideCancel(services.LetIn, readAndWrite)),
		},
		{
			Name: "process mutex", Expect: experiments.Sometimes,
			Run: services.InShop(lockstrategy.NameProcess, 1, payBesideCancel(services.LetIn, readAndWrite)),
		},
		{Name: "v3", Run: services.InShop(lockstrategy.NameRedis, 1, payBesideCancel(services.KeptOut, readAndWrite))},
		{Name: "conditional UPDATE", Run: services.InShop("", 1, payBesideCancel(services.KeptOut, conditionalState))},
	},
}

// readAndWrite and conditionalState change the order's state: A pays, and B cancels.
func readAndWrite(ctx context.Context, i *services.ShopInstance, id uint64) error {
	return i.Change(ctx, i.Lock, id, wanted(i))
}

func conditionalState(ctx context.Context, i *services.ShopInstance, id uint64) error {
	return i.ChangeAtomic(ctx, id, wanted(i))
}

func wanted(i *services.ShopInstance) shop.State {
	if i.Name == "A" {
		return shop.Paid
	}
	return shop.Cancelled
}

// placed makes an order, and returns what changes it.
func placed(
	ctx context.Context, x *services.Shop, change func(context.Context, *services.ShopInstance, uint64) error,
) (id uint64, act func(context.Context, *services.ShopInstance) error) {
	o, err := x.A.BuyAtomic(ctx, x.A.Purchase(1))
	x.Must(err)
	return o.ID, func(ctx context.Context, i *services.ShopInstance) error { return change(ctx, i, o.ID) }
}

func paidThenCancelled(ctx context.Context, x *services.Shop) {
	id, act := placed(ctx, x, readAndWrite)
	x.Act(ctx, x.A, act)
	x.Act(ctx, x.B, act)
	recordChanges(ctx, x, id)
}

func payBesideCancel(
	timeout time.Duration, change func(context.Context, *services.ShopInstance, uint64) error,
) func(context.Context, *services.Shop) {
	return func(ctx context.Context, x *services.Shop) {
		id, act := placed(ctx, x, change)
		x.Beside(ctx, "shop_orders", timeout, act)
		recordChanges(ctx, x, id)
	}
}

// recordChanges records what the database has: the changes that clients were told of, and the state.
func recordChanges(ctx context.Context, x *services.Shop, id uint64) {
	o, err := x.A.Order(ctx, id)
	x.Must(err)
	if len(o.Changes) == 0 {
		x.Must(fmt.Errorf("order %d was not changed", id))
	}
	for _, c := range o.Changes {
		name := map[shop.State]string{shop.Paid: "A", shop.Cancelled: "B"}[c.To]
		x.Record(history.Event{Timeline: name, Kind: history.Win, Key: "order", Owner: name, Text: string(c.To)})
	}
	x.Note("database", "the order is "+string(o.State))
}

// paidAndCancelled finds an order with both changes.
func paidAndCancelled(trial []history.Event) (found []history.Violation) {
	for _, v := range history.Winners(trial) {
		v.What = "clients were told that the order is paid, and that it is cancelled"
		found = append(found, v)
	}
	return found
}
