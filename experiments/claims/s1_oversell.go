package claims

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/shop"
)

var _ = register(experiments.Experiment{
	ID:      "S1-oversell",
	Title:   "Oversold stock",
	Article: "A3",
	Claim:   "Without a lock that all instances share, or a condition in the UPDATE, two buyers get the last piece.",
	Says:    "Overselling is the fourth case for a lock: the stock of an item is shared, so its changes must exclude each other.",
	Drawing: `
A   reads 1                      writes 0, order   "you have it"
B             reads 1   writes 0, order            "you have it"`,
	How: `
		One piece is in stock. Buyer 1 at instance A reads it. Then buyer 2 comes to instance B. A writes only after B has read, or after 300
		ms where something keeps B out. In the control A has finished before B begins. The last variant lets 1000 buyers want 100 pieces, and
		measures three ways on MariaDB.`,
	Alone: true, // it measures
	Slow:  true, // it starts the servers of each lock, and three databases
	Takes: 20 * time.Second,
	Check: kit.Any(history.Winners, kit.Noted(soldTooMany)),
	Variants: []experiments.Variant{
		{Name: "v1, one buyer at a time", Run: kit.InShop(lockstrategy.NameNone, 1, oneAfterTheOther)},
		{Name: "v1", Expect: experiments.Sometimes, Run: kit.InShop(lockstrategy.NameNone, 1, lastPiece(kit.LetIn, buy))},
		{Name: "v2", Expect: experiments.Sometimes, Run: kit.InShop(lockstrategy.NameProcess, 1, lastPiece(kit.LetIn, buy))},
		lockedSale("v3", lockstrategy.NameRedis),
		lockedSale("v4", lockstrategy.NameRedLock),
		lockedSale("v5", lockstrategy.NameDatabase),
		lockedSale("v6", lockstrategy.NameZooKeeper),
		lockedSale("v7", lockstrategy.NameEtcd),
		lockedSale("v8", lockstrategy.NameMemcached),
		{
			Name: "v3, released before the COMMIT", Expect: experiments.Sometimes, Needs: []experiments.Need{experiments.MariaDB},
			Run: kit.InMariaDBShop(lockstrategy.NameRedis, 1, releasedBeforeCommit),
		},
		{Name: "conditional UPDATE", Run: kit.InShop("", 1, lastPiece(kit.KeptOut, buyAtomic))},
		{
			Name: "SELECT … FOR UPDATE", Needs: []experiments.Need{experiments.MariaDB},
			Run: kit.InMariaDBShop("", 1, lastPiece(kit.KeptOut, buyForUpdate)),
		},
		{
			Name: "1000 buyers, 100 pieces", Needs: []experiments.Need{experiments.MariaDB},
			Run: kit.InMariaDBShop(lockstrategy.NameRedis, 0, flashSale),
		},
	},
	Lesson: experiments.Lesson{
		Question: `
			One piece is left. Two buyers press the button at two instances. Each instance reads the stock, and sells if there is enough. You
			may add a mutex, a Redis lock, a transaction with the lock inside, or a condition in the UPDATE. Which of them sell the piece once?`,
		Predict: `
			(a) All four: each of them makes one buyer wait. (b) The Redis lock and the condition. (c) The Redis lock, alone and inside of the
			transaction, and the condition.`,
		Why: `
			(b). A mutex knows nothing of the other instance. A lock inside of a transaction is free before the COMMIT, so the next holder reads
			the old stock (D02). The Redis lock around the transaction lets the second buyer read only what the first has written. The condition
			needs no lock. The database tests it and writes in one statement, and the second statement changes no row.`,
		Fix: `
			Put the condition into the UPDATE: stock >= quantity. It is one statement, it needs no lock service, and a paused client does no harm.
			SELECT … FOR UPDATE helps when the decision needs more than one statement. Take a lock when the work reaches beyond the database.`,
		Limits: `
			The shop checks no fencing token. A holder that has lost its lock and writes oversells, as in L11 and L22. SQLite has no FOR UPDATE,
			and one writer at a time. The numbers are those of this machine, with the database and the buyers on it. A hot row limits every way:
			the database changes it for one buyer after the other. The table says which way took the least
			time here. The condition needs no lock server and has no lease.`,
		Next: "D02-released-before-commit shows the early release with a counter, and G6-conditional-update the condition with an order. " +
			"S4-state-change uses the condition for a state. By hand: docs/shop.md, and `k6 run loadtest/k6/shop.js`.",
		Level: experiments.Basic,
	},
})

// soldTooMany is what a check finds.
const soldTooMany = "more pieces were sold than there were"

// lastOne is what two buyers want.
const lastOne = "the last piece"

// buyerOf is the buyer at an instance.
func buyerOf(i *kit.ShopInstance) uint64 {
	if i.Name == "A" {
		return 1
	}
	return 2
}

func buy(ctx context.Context, i *kit.ShopInstance) error {
	_, err := i.Buy(ctx, i.Lock, i.Purchase(buyerOf(i)))
	return err
}

func buyAtomic(ctx context.Context, i *kit.ShopInstance) error {
	_, err := i.BuyAtomic(ctx, i.Purchase(buyerOf(i)))
	return err
}

func buyForUpdate(ctx context.Context, i *kit.ShopInstance) error {
	_, err := i.BuyForUpdate(ctx, i.Purchase(buyerOf(i)))
	return err
}

func oneAfterTheOther(ctx context.Context, x *kit.Shop) {
	x.Act(ctx, x.A, buy)
	x.Act(ctx, x.B, buy)
	x.RecordOrders(ctx, lastOne)
}

// lastPiece lets two buyers want the last piece. A waits so long for B's read.
func lastPiece(timeout time.Duration, buy func(context.Context, *kit.ShopInstance) error) func(context.Context, *kit.Shop) {
	return func(ctx context.Context, x *kit.Shop) {
		x.Beside(ctx, "shop_items", timeout, buy)
		x.RecordOrders(ctx, lastOne)
	}
}

// lockedSale is the variant of a version whose lock lives outside of the instances.
func lockedSale(version, strategy string) experiments.Variant {
	return experiments.Variant{
		Name: version, Needs: kit.NeedsOf(strategy), Run: kit.InShop(strategy, 1, lastPiece(kit.KeptOut, buy)),
		Trials: 1, // most of the time goes to the start of the lock's servers
	}
}

// releasedBeforeCommit has the lock inside of the transaction. A commits when B has read, or does not read.
func releasedBeforeCommit(ctx context.Context, x *kit.Shop) {
	read := make(chan struct{})
	x.B.OnRead("shop_items", func() { close(read) })
	var waitForB func()
	x.Act(ctx, x.A, func(ctx context.Context, i *kit.ShopInstance) error {
		return i.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			_, err := shop.New(tx, 0).Buy(ctx, i.Lock, i.Purchase(1))
			waitForB = x.Go(func() { x.Act(ctx, x.B, buy) })
			select {
			case <-read:
			case <-time.After(kit.LetIn):
			case <-ctx.Done():
			}
			x.Record(history.Event{Timeline: i.Name, Kind: history.Command, Text: "COMMIT"})
			return err
		})
	})
	waitForB()
	x.RecordOrders(ctx, lastOne)
}

// The flash sale.
const (
	saleBuyers, salePieces = 1000, 100
	simultaneous           = 16 // at each instance
	saleUnit               = "µs for each of 1000 buyers, with 100 pieces and two instances"
)

func flashSale(ctx context.Context, x *kit.Shop) {
	for _, way := range []struct {
		name string
		buy  func(*kit.ShopInstance, shop.Purchase) error
	}{
		{"conditional UPDATE", func(i *kit.ShopInstance, p shop.Purchase) error { _, err := i.BuyAtomic(ctx, p); return err }},
		{"FOR UPDATE", func(i *kit.ShopInstance, p shop.Purchase) error { _, err := i.BuyForUpdate(ctx, p); return err }},
		{"v3", func(i *kit.ShopInstance, p shop.Purchase) error { _, err := i.Buy(ctx, i.Measured(), p); return err }},
	} {
		x.Must(x.A.Stock(ctx, kit.ShopItem, salePieces))
		began := x.Now()
		x.Must(sell(x, way.buy))
		x.Measure(way.name, (x.Now()-began).Microseconds()/saleBuyers, saleUnit)
		r, err := x.A.Report(ctx, kit.ShopItem)
		x.Must(err)
		x.Measure(way.name, r.Sold, "pieces sold")
		if r.Sold > r.Pieces {
			x.Note(way.name, soldTooMany)
		}
	}
}

// sell lets all buyers come, so many at a time. Most of them are refused.
func sell(x *kit.Shop, buy func(*kit.ShopInstance, shop.Purchase) error) error {
	var last atomic.Uint64
	var buyers errgroup.Group
	for n := range 2 * simultaneous {
		i := []*kit.ShopInstance{x.A, x.B}[n%2]
		buyers.Go(func() error {
			for buyer := last.Add(1); buyer <= saleBuyers; buyer = last.Add(1) {
				if err := buy(i, i.Purchase(buyer)); err != nil && !errors.Is(err, shop.ErrSoldOut) {
					return err
				}
			}
			return nil
		})
	}
	return buyers.Wait()
}
