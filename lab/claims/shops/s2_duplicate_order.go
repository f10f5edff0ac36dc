package shops

import (
	"context"
	"sync"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/shop"
	"locklab/versions"
)

var S2 = Experiments.Add(lab.Experiment{
	ID:       "S2-duplicate-order",
	Articles: lab.Articles{"A3"},
	Claim:    "A lock alone does not stop a second submission: it comes later, unless the lock is followed by a check.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 10 * time.Second},
	Check:    clients.Any(history.Winners, clients.Noted(otherAnswer)),
	Variants: []lab.Variant{
		{Name: "submitted once", Run: services.InShop("", 5, submittedOnce)},
		{Name: "no guard", Expect: lab.Sometimes, Run: services.InShop(versions.NameNone, 5, submittedTwice(submit(false)))},
		{
			Name: "check, no lock", Expect: lab.Sometimes,
			Run: services.InShop(versions.NameNone, 5, submittedBeside(services.LetIn, submit(true))),
		},
		{
			Name: "v3, no check, the second comes later", Expect: lab.Sometimes,
			Run: services.InShop(versions.NameRedis, 5, submittedTwice(submit(false))),
		},
		{Name: "v3 and check", Run: services.InShop(versions.NameRedis, 5, submittedBeside(services.KeptOut, submit(true)))},
		{Name: "v3 and check, the second comes later", Run: services.InShop(versions.NameRedis, 5, submittedTwice(submit(true)))},
		{Name: "unique key", Run: services.InShop("", 5, submittedUnique)},
		{Name: "idempotency key", Run: services.InShop("", 5, submittedWithKey)},
		onMariaDB("unique key", submittedUnique),
		onMariaDB("idempotency key", submittedWithKey),
	},
})

// onMariaDB is a guard of the database's own. SQLite has one writer at a time, MariaDB has many.
func onMariaDB(guard string, scenario func(context.Context, *services.Shop)) lab.Variant {
	return lab.Variant{
		Name: guard + ", on MariaDB", Slow: true, Needs: []lab.Need{lab.MariaDB}, Run: services.InMariaDBShop("", 5, scenario),
	}
}

const onceOnly = "the order of buyer 1"

var otherAnswer = history.Mark{Name: "a repetition was answered with another order"}

// submit lets buyer 1 submit at an instance.
func submit(check bool) func(context.Context, *services.ShopInstance) error {
	return func(ctx context.Context, i *services.ShopInstance) error {
		_, err := i.Submit(ctx, i.Lock, i.Purchase(1), check)
		return err
	}
}

func submitUnique(ctx context.Context, i *services.ShopInstance) error {
	_, err := i.SubmitUnique(ctx, i.Purchase(1))
	return err
}

func submittedOnce(ctx context.Context, x *services.Shop) {
	x.Act(ctx, x.A, submitUnique)
	x.RecordOrders(ctx, onceOnly)
}

// submittedTwice lets the second submission come after the first.
func submittedTwice(submit func(context.Context, *services.ShopInstance) error) func(context.Context, *services.Shop) {
	return func(ctx context.Context, x *services.Shop) {
		x.Act(ctx, x.A, submit)
		x.Act(ctx, x.B, submit)
		x.RecordOrders(ctx, onceOnly)
	}
}

// submittedBeside lets the second submission come after the read of the first.
func submittedBeside(
	timeout time.Duration, submit func(context.Context, *services.ShopInstance) error,
) func(context.Context, *services.Shop) {
	return func(ctx context.Context, x *services.Shop) {
		x.Beside(ctx, "shop_orders", timeout, submit)
		x.RecordOrders(ctx, onceOnly)
	}
}

// submittedUnique lets the second submission come while the first one's transaction is open, and once more later.
func submittedUnique(ctx context.Context, x *services.Shop) {
	x.Beside(ctx, "shop_items", services.KeptOut, submitUnique)
	x.Act(ctx, x.A, submitUnique)
	x.RecordOrders(ctx, onceOnly)
}

// submittedWithKey lets the second submission come while the first is in progress, and once more later.
func submittedWithKey(ctx context.Context, x *services.Shop) {
	var mu sync.Mutex // of answers
	var answers []uint64
	withKey := func(ctx context.Context, i *services.ShopInstance) error {
		o, _, err := i.Once(ctx, "key of this order", "buy", time.Minute, func(a *shop.Attempt) (shop.Order, error) {
			p := i.Purchase(1)
			p.Attempt = a
			return i.BuyAtomic(ctx, p)
		})
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, o.ID)
		}
		return err
	}
	x.Beside(ctx, "shop_items", services.KeptOut, withKey)
	x.Act(ctx, x.B, withKey)
	for _, id := range answers {
		if id != answers[0] {
			x.Mark("B", otherAnswer)
		}
	}
	x.RecordOrders(ctx, onceOnly)
}
