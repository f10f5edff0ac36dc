package shop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"locklab/internal/tables"
)

// Buy reads the stock, thinks, and writes the stock that is left, inside lock. The stock may have changed by then, if lock excludes nobody.
func (s *Store) Buy(ctx context.Context, lock Locker, p Purchase) (order Order, err error) {
	var item Item
	err = s.locked(ctx, lock, itemKey(p.ItemID),
		func(db *gorm.DB) error { return p.read(db, &item) },
		func(tx *gorm.DB) error { return p.write(tx, item, &order) })
	return order, err
}

// locked reads, thinks and writes inside lock. The write is one transaction.
func (s *Store) locked(ctx context.Context, lock Locker, key string, read, write func(*gorm.DB) error) error {
	return lock.Do(ctx, key, func(ctx context.Context, _ uint64) error {
		if err := s.do(ctx, read); err != nil {
			return notWritten(err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), context.Cause(ctx))
		case <-time.After(s.think):
			return s.transaction(tables.SameServer(ctx), write)
		}
	})
}

// BuyForUpdate reads with SELECT … FOR UPDATE and writes in one transaction: others wait for the row. SQLite has no such lock.
// There the transaction has the whole database from its beginning, if the connection begins it with BEGIN IMMEDIATE.
func (s *Store) BuyForUpdate(ctx context.Context, p Purchase) (order Order, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		var item Item
		if err := p.read(tx.Clauses(clause.Locking{Strength: "UPDATE"}), &item); err != nil {
			return err
		}
		return p.write(tx, item, &order)
	})
	return order, err
}

// BuyAtomic sells in one conditional UPDATE, without a lock: the database tests the condition and writes in one statement.
func (s *Store) BuyAtomic(ctx context.Context, p Purchase) (order Order, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error { return p.take(tx, nil, &order) })
	return order, err
}

// read reads the item, and refuses when there is not enough of it.
func (p Purchase) read(db *gorm.DB, item *Item) error {
	if err := db.Take(item, p.ItemID).Error; err != nil || item.Stock >= p.Quantity {
		return err
	}
	return p.soldOut(*item)
}

func (p Purchase) soldOut(item Item) error {
	return SoldOut{Item: item.ID, Left: item.Stock, Wanted: p.Quantity}
}

// write writes the stock that is left of what was read, and the order.
func (p Purchase) write(tx *gorm.DB, item Item, order *Order) error {
	item.Stock -= p.Quantity
	if err := tx.Model(&item).Update("stock", item.Stock).Error; err != nil {
		return err
	}
	return p.place(tx, item, nil, order)
}

// take sells what is there, and not more: the condition is in the UPDATE. A unique key may refuse the order.
func (p Purchase) take(tx *gorm.DB, single *string, order *Order) error {
	update := tx.Model(&Item{}).Where("id = ? AND stock >= ?", p.ItemID, p.Quantity).Update("stock", gorm.Expr("stock - ?", p.Quantity))
	var item Item
	switch err := errors.Join(update.Error, tx.Take(&item, p.ItemID).Error); {
	case err != nil:
		return err
	case update.RowsAffected == 0:
		return p.soldOut(item)
	}
	return p.place(tx, item, single, order)
}

// place writes the order, and that the request with the idempotency key is done: both or none.
func (p Purchase) place(tx *gorm.DB, item Item, single *string, order *Order) error {
	if p.Quantity < 1 {
		return fmt.Errorf("%w: the quantity is %d; it must be 1 or more", ErrInvalid, p.Quantity)
	}
	*order = Order{
		ItemID: p.ItemID, Buyer: p.Buyer, Quantity: p.Quantity, Left: item.Stock, State: Placed, Single: single,
		Version: p.Version, Instance: p.Instance,
	}
	if err := tx.Create(order).Error; err != nil || p.Attempt == nil {
		return err
	}
	return p.Attempt.update(tx, Attempt{OrderID: order.ID})
}
