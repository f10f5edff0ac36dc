package order

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// holder is what the database knows of one: the version of its lock, and its fencing token.
type holder struct {
	lock  string
	token uint64
}

// The conditions under which a holder may read, and write. A token is registered once. Two masters of a split brain can grant one token
// to two holders, and the second of them is refused. Tokens of two locks are not compared: the numbers of etcd and of Redis have
// nothing to do with each other.
const (
	mayRead  = "(fence_lock <> ? OR fence < ?)"
	mayWrite = "(fence_lock = ? AND fence = ?)"
)

// register reads the order for a holder and stores its fencing token. From then on no other holder can write, until one with a newer
// token has read. Both happen in one transaction, which ends before the driver thinks. Without a token it reads only.
func (s *Store) register(ctx context.Context, id uint64, by holder) (order Order, err error) {
	if by.token == 0 {
		return s.read(ctx, id)
	}
	err = s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := by.update(tx, id, mayRead, Order{Token: by.token, Lock: by.lock}); err != nil {
				return err
			}
			return tx.Take(&order, id).Error
		})
	})
	return order, err
}

// write grants the order to the attempt, even if another driver has it by now: it trusts what was read, as A2 does. It checks only
// that the holder's fencing token is registered. Without a token nothing is checked, and the registered one stays.
func (s *Store) write(ctx context.Context, a Attempt, by holder) error {
	return s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := by.update(tx, a.OrderID, mayWrite, grantTo(a)); err != nil {
				return err
			}
			return tx.Create(win(a, by.token)).Error
		})
	})
}

// update updates the order if the holder may. The check is a condition of the UPDATE: a separate one could pass before another holder
// comes and act after it.
func (h holder) update(tx *gorm.DB, id uint64, may string, to Order) error {
	update := tx.Model(&Order{ID: id})
	if h.token > 0 {
		update = update.Where(may, h.lock, h.token)
	}
	update = update.Updates(to)
	if update.Error == nil && update.RowsAffected == 0 { // rows that match, changed or not: see ClientFoundRows
		return h.refused(tx, id)
	}
	return update.Error
}

// refused says why an UPDATE matched no row.
func (h holder) refused(tx *gorm.DB, id uint64) error {
	var order Order
	if err := tx.Take(&order, id).Error; err != nil {
		return err
	}
	return fmt.Errorf("%w: its fencing token is %q, and the registered one of the last reader is %q; nothing was changed", ErrStale,
		fmt.Sprint(h.lock, " ", h.token), fmt.Sprint(order.Lock, " ", order.Token))
}

// grantTo is what an UPDATE sets. gorm leaves out zero values: the token stays that was stored at the read.
func grantTo(a Attempt) Order { return Order{Status: Granted, Driver: a.Driver} }

func win(a Attempt, token uint64) *Win {
	return &Win{OrderID: a.OrderID, Driver: a.Driver, Version: a.Version, Instance: a.Instance, Token: token, At: time.Now().UTC()}
}
