package shops

import (
	"context"
	"sync"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/shop"
)

var S2 = experiments.Experiment{
	ID:       "S2-duplicate-order",
	Title:    "The same order twice",
	Articles: experiments.Articles{"A3"},
	Claim:    "A lock alone does not stop a second submission: it comes later, unless the lock is followed by a check.",
	Says:     "To stop a user from ordering twice is the first case for a lock. The article names the user's id as what is shared.",
	Errata: []experiments.Erratum{{
		Article: "A3", What: `
		A3 makes an order that a user places twice a question of a lock. A lock alone makes both orders, one after the other:
		something must remember the first one.`,
		Where: "the business cases: `防止用户重复下单`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A buyer presses the button twice, or the app repeats a request without an answer. You lock the buyer and the item in Redis, place
			the order, and release the lock. How many orders are there?`,
		Predict: "(a) One: the lock is for that buyer. (b) Two. (c) One, if the lock waits; two, if it refuses while it is held.",
		Why: `
			(b). The lock only puts the two requests one after the other. The second one gets the lock as soon as it is free, and places its
			order, because nothing asks whether there is one. A check without a lock has the gap of S1: both requests find no order. Both together
			are right. The unique key does the same in the database.`,
		Fix: `
			Let the client send an idempotency key, the same for each attempt at one order. The order and the key are written in one transaction.
			A repetition gets the first answer, so a buyer may order a second time with a new key. A unique key of buyer and item is shorter, and
			allows one order for ever.`,
		Limits: `
			The check under the lock needs the lock to hold: see L05 and L11. The idempotency key is as good as the client that makes it: a new
			key for each attempt is no key. A key must be kept as long as a client may repeat its request. Work outside of the database, such as
			a payment, needs its own key. The callers are goroutines of one program, each with the database's own transactions.`,
		Next: "S1-oversell is the same gap with the stock. S3-message-dedupe has the same mark for messages. By hand: " +
			"`curl -H 'Idempotency-Key: k1' …` in docs/shop.md.",
		Level: experiments.Basic,
	},
	Drawing: `
A   ├─ lock ─ order 1 ─ unlock ┤
B     waits                     ├─ lock ─ order 2 ─ unlock ┤     nobody asked whether there is one`,
	How: `
		A buyer submits an order twice, at two instances. Where both are on the way, A continues when B has read, or after 300 ms. In the
		variant of the lock alone the second submission comes when the first is over. The idempotency key is sent a third time at the end,
		and must be answered with the same order.`,
	Schedule: experiments.Schedule{Takes: 6 * time.Second},
	Check:    clients.Any(history.Winners, clients.Noted(otherAnswer)),
	Variants: []experiments.Variant{
		{Name: "submitted once", Run: services.InShop("", 5, submittedOnce)},
		{Name: "no guard", Expect: experiments.Sometimes, Run: services.InShop(lockstrategy.NameNone, 5, submittedTwice(submit(false)))},
		{
			Name: "check, no lock", Expect: experiments.Sometimes,
			Run: services.InShop(lockstrategy.NameNone, 5, submittedBeside(services.LetIn, submit(true))),
		},
		{
			Name: "v3, no check, the second comes later", Expect: experiments.Sometimes,
			Run: services.InShop(lockstrategy.NameRedis, 5, submittedTwice(submit(false))),
		},
		{Name: "v3 and check", Run: services.InShop(lockstrategy.NameRedis, 5, submittedBeside(services.KeptOut, submit(true)))},
		{Name: "v3 and check, the second comes later", Run: services.InShop(lockstrategy.NameRedis, 5, submittedTwice(submit(true)))},
		{Name: "unique key", Run: services.InShop("", 5, submittedUnique)},
		{Name: "idempotency key", Run: services.InShop("", 5, submittedWithKey)},
	},
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
