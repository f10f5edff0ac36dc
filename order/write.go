package order

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"locklab/internal/tables"
)

// holder is what the database registers about a lock's holder. Its exported fields are parameters of mayRead and mayWrite.
type holder struct {
	Lock  string // the version
	Token uint64
	Name  string // random: two holders may have the same token
}

// The conditions under which a [holder] may read and write. Two masters of a split brain can grant the same token to two holders. The
// second one is refused at the read, unless a holder of another lock has read in between. In that case the names tell them apart at the
// write. Tokens of two locks are not compared: numbers of etcd and of Redis have nothing in common.
const (
	mayRead  = "(fence_lock <> @Lock OR fence < @Token)"
	mayWrite = "(fence_lock = @Lock AND fence = @Token AND fence_holder = @Name)"
)

// readAndRegister reads the order and registers the holder, so that no other holder can write until one reads again. Both happen in one
// transaction, which ends before the driver thinks. A holder without a token is not registered.
func (s *Store) readAndRegister(ctx context.Context, id uint64, h holder) (order Order, err error) {
	if h.Token == 0 {
		return s.read(ctx, id)
	}
	err = s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := h.update(tx, id, mayRead, Order{Token: h.Token, Lock: h.Lock, Holder: h.Name}); err != nil {
				return err
			}
			return tx.Take(&order, id).Error
		})
	})
	return order, err
}

// write grants the order to the attempt, even if another driver has it by now: like A2, it trusts what it has read. It only checks that
// the holder registered last. Without a token nothing is checked, and the registration stays.
func (s *Store) write(ctx context.Context, a Attempt, h holder) error {
	return s.do(tables.SameServer(ctx), func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := h.update(tx, a.OrderID, mayWrite, grant(a)); err != nil {
				return err
			}
			return tx.Create(newWin(a, h.Token)).Error
		})
	})
}

// update updates the order if the holder meets a condition. The condition is part of the UPDATE: between two statements, another holder
// could read.
func (h holder) update(tx *gorm.DB, id uint64, condition string, to Order) error {
	update := tx.Model(&Order{ID: id})
	if h.Token > 0 {
		update = update.Where(condition, h)
	}
	update = update.Updates(to)
	if update.Error == nil && update.RowsAffected == 0 { // counts rows that match, changed or not: see ClientFoundRows
		return h.updateError(tx, id)
	}
	return update.Error
}

// updateError returns why an UPDATE matched no row.
func (h holder) updateError(tx *gorm.DB, id uint64) error {
	var order Order
	if err := tx.Take(&order, id).Error; err != nil {
		return err
	}
	return fmt.Errorf("%w: its fencing token is %q, but the last one registered is %q; nothing was changed", ErrStale,
		fmt.Sprint(h.Lock, " ", h.Token), fmt.Sprint(order.Lock, " ", order.Token))
}

// grant returns the columns to update. gorm skips zero values, so the registration stays as it is.
func grant(a Attempt) Order { return Order{Status: Granted, Driver: a.Driver} }

func newWin(a Attempt, token uint64) *Win {
	return &Win{OrderID: a.OrderID, Driver: a.Driver, Version: a.Version, Instance: a.Instance, Token: token, At: time.Now().UTC()}
}
