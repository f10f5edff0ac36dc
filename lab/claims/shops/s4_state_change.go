package shops

import (
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/history"
	"locklab/systems/shop"
	"locklab/versions"
)

var S4 = Experiments.Add(lab.Experiment{
	ID:       "S4-state-change",
	Articles: lab.Articles{"A3"},
	Claim:    "Paying and cancelling at the same time leaves an order both paid and cancelled, unless a lock or the UPDATE excludes it.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    paidAndCancelled,
	Variants: []lab.Variant{
		{Name: "read and write, one after the other", Run: services.InShop(versions.NameNone, 1, paidThenCancelled)},
		{
			Name: "read and write", Expect: lab.Sometimes,
			Run: services.InShop(versions.NameNone, 1, payBesideCancel(services.LetIn, readAndWrite)),
		},
		{
			Name: "process mutex", Expect: lab.Sometimes,
			Run: services.InShop(versions.NameProcess, 1, payBesideCancel(services.LetIn, readAndWrite)),
		},
		{Name: "v3", Run: services.InShop(versions.NameRedis, 1, payBesideCancel(services.KeptOut, readAndWrite))},
		{Name: "conditional UPDATE", Run: services.InShop("", 1, payBesideCancel(services.KeptOut, conditionalState))},
		{
			Name: "conditional UPDATE, on MariaDB", Slow: true, Needs: []lab.Need{lab.MariaDB},
			Run: services.InMariaDBShop("", 1, payBesideCancel(services.KeptOut, conditionalState)),
		},
	},
})

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
