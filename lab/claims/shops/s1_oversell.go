package shops

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/shop"
	"locklab/versions"
)

var S1 = Experiments.Add(lab.Experiment{
	ID:       "S1-oversell",
	Articles: lab.Articles{"A3"},
	Claim:    "Without a lock that all instances share, or a condition in the UPDATE, two buyers get the last piece.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{
		Alone: true, // it measures
		Slow:  true, // it starts the servers of each lock, and three databases
		Takes: 20 * time.Second,
	},
	Check: clients.Any(history.Winners, clients.Noted(soldTooMany), clients.Noted(stockIsWrong)),
	Variants: []lab.Variant{
		{Name: "v1, one buyer at a time", Run: services.InShop(versions.NameNone, 1, oneAfterTheOther)},
		{Name: "v1", Expect: lab.Sometimes, Run: services.InShop(versions.NameNone, 1, lastPiece(services.LetIn, buy))},
		{Name: "v2", Expect: lab.Sometimes, Run: services.InShop(versions.NameProcess, 1, lastPiece(services.LetIn, buy))},
		lockedSale("v3", versions.NameRedis),
		lockedSale("v4", versions.NameRedLock),
		lockedSale("v5", versions.NameDatabase),
		lockedSale("v6", versions.NameZooKeeper),
		lockedSale("v7", versions.NameEtcd),
		lockedSale("v8", versions.NameMemcached),
		{
			Name: "v3, released before the COMMIT", Expect: lab.Sometimes, Needs: []lab.Need{lab.MariaDB},
			Run: services.InMariaDBShop(versions.NameRedis, 1, releasedBeforeCommit),
		},
		{Name: "conditional UPDATE", Run: services.InShop("", 1, lastPiece(services.KeptOut, buyAtomic))},
		{
			Name: "conditional UPDATE, on MariaDB", Needs: []lab.Need{lab.MariaDB},
			Run: services.InMariaDBShop("", 1, lastPiece(services.KeptOut, buyAtomic)),
		},
		{
			Name: "SELECT … FOR UPDATE", Needs: []lab.Need{lab.MariaDB},
			Run: services.InMariaDBShop("", 1, lastPiece(services.KeptOut, buyForUpdate)),
		},
		{
			Name: "1000 buyers, 100 pieces", Needs: []lab.Need{lab.MariaDB},
			Run: services.InMariaDBShop(versions.NameRedis, 0, flashSale),
		},
	},
})

// Marks of the check's violations.
var (
	soldTooMany  = history.Mark{Name: "more pieces were sold than there were"}
	stockIsWrong = history.Mark{Name: "the pieces in stock and sold are not those that there were"}
)

// lastOne is what two buyers want.
const lastOne = "the last piece"

// buyerOf is the buyer at an instance.
func buyerOf(i *services.ShopInstance) uint64 {
	if i.Name == "A" {
		return 1
	}
	return 2
}

func buy(ctx context.Context, i *services.ShopInstance) error {
	_, err := i.Buy(ctx, i.Lock, i.Purchase(buyerOf(i)))
	return err
}

func buyAtomic(ctx context.Context, i *services.ShopInstance) error {
	_, err := i.BuyAtomic(ctx, i.Purchase(buyerOf(i)))
	return err
}

func buyForUpdate(ctx context.Context, i *services.ShopInstance) error {
	_, err := i.BuyForUpdate(ctx, i.Purchase(buyerOf(i)))
	return err
}

func oneAfterTheOther(ctx context.Context, x *services.Shop) {
	x.Act(ctx, x.A, buy)
	x.Act(ctx, x.B, buy)
	x.RecordOrders(ctx, lastOne)
}

// lastPiece lets two buyers want the last piece. A waits so long for B's read.
func lastPiece(timeout time.Duration, buy func(context.Context, *services.ShopInstance) error) func(context.Context, *services.Shop) {
	return func(ctx context.Context, x *services.Shop) {
		x.Beside(ctx, "shop_items", timeout, buy)
		x.RecordOrders(ctx, lastOne)
	}
}

// lockedSale is the variant of a version whose lock lives outside of the instances.
func lockedSale(version, strategy string) lab.Variant {
	return lab.Variant{
		Name: version, Needs: clients.NeedsOf(strategy), Run: services.InShop(strategy, 1, lastPiece(services.KeptOut, buy)),
		Trials: 1, // most of the time goes to the start of the lock's servers
	}
}

// releasedBeforeCommit has the lock inside of the transaction. A commits when B has read, or does not read.
func releasedBeforeCommit(ctx context.Context, x *services.Shop) {
	read := make(chan struct{})
	x.B.OnRead("shop_items", func() { close(read) })
	var waitForB func()
	x.Act(ctx, x.A, func(ctx context.Context, i *services.ShopInstance) error {
		return i.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			_, err := shop.New(tx, 0).Buy(ctx, i.Lock, i.Purchase(1))
			waitForB = x.Go(func() { x.Act(ctx, x.B, buy) })
			select {
			case <-read:
			case <-time.After(services.LetIn):
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
)

var perBuyer = lab.Microseconds.Of("for each of 1000 buyers, with 100 pieces and two instances")

func flashSale(ctx context.Context, x *services.Shop) {
	for _, way := range []struct {
		name string
		buy  func(*services.ShopInstance, shop.Purchase) error
	}{
		{"conditional UPDATE", func(i *services.ShopInstance, p shop.Purchase) error { _, err := i.BuyAtomic(ctx, p); return err }},
		{"FOR UPDATE", func(i *services.ShopInstance, p shop.Purchase) error { _, err := i.BuyForUpdate(ctx, p); return err }},
		{"v3", func(i *services.ShopInstance, p shop.Purchase) error {
			_, err := i.Buy(ctx, i.Measured(), p)
			return err
		}},
	} {
		x.Must(x.A.Stock(ctx, services.ShopItem, salePieces))
		began := x.Now()
		x.Must(sell(x, way.buy))
		x.Measure(way.name, (x.Now()-began).Microseconds()/saleBuyers, perBuyer)
		r, err := x.A.Report(ctx, services.ShopItem)
		x.Must(err)
		x.Measure(way.name, r.Sold, lab.Count.Of("pieces sold"))
		if r.Sold > r.Pieces {
			x.Mark(way.name, soldTooMany)
		}
		if r.Unaccounted() != 0 {
			x.Mark(way.name, stockIsWrong)
		}
	}
}

// sell lets all buyers come, so many at a time. Most of them are refused.
func sell(x *services.Shop, buy func(*services.ShopInstance, shop.Purchase) error) error {
	var last atomic.Uint64
	var buyers errgroup.Group
	for n := range 2 * simultaneous {
		i := []*services.ShopInstance{x.A, x.B}[n%2]
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
