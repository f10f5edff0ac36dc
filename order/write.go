package order

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// register reads the order for a holder and stores its fencing token: from then on no holder with an older one can write. A holder
// that is itself older than a stored one is refused. Both happen in one transaction, which ends before the driver thinks. Without a
// token it reads only.
func (s *Store) register(ctx context.Context, id, token uint64) (order Order, err error) {
	if token == 0 {
		return s.read(ctx, id)
	}
	err = s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := checked(tx, id, token, Order{Token: token}); err != nil {
				return err
			}
			return tx.Take(&order, id).Error
		})
	})
	return order, err
}

// write grants the order to the attempt, even if another driver has it by now: it trusts what was read, as A2 does. It checks only
// the fencing token. Without a token nothing is checked, and the stored one stays.
func (s *Store) write(ctx context.Context, a Attempt, token uint64) error {
	return s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := checked(tx, a.OrderID, token, grantTo(a)); err != nil {
				return err
			}
			return tx.Create(win(a, token)).Error
		})
	})
}

// checked updates the order unless a holder with a newer fencing token has read or written it. The check is a condition of the UPDATE:
// a separate one could pass before such a holder comes and act after it. An equal token is the same holder, which may read and write
// again.
func checked(tx *gorm.DB, id, token uint64, to Order) error {
	update := tx.Model(&Order{ID: id})
	if token > 0 {
		update = update.Where("fence <= ?", token)
	}
	update = update.Updates(to)
	if update.Error == nil && update.RowsAffected == 0 { // rows that match, changed or not: see ClientFoundRows
		return refused(tx, id, token)
	}
	return update.Error
}

// refused says why an UPDATE matched no row.
func refused(tx *gorm.DB, id, token uint64) error {
	var order Order
	if err := tx.Take(&order, id).Error; err != nil {
		return err
	}
	return fmt.Errorf("%w: its fencing token is %d, and a holder with the newer token %d has read or written; nothing was changed",
		ErrStale, token, order.Token)
}

// grantTo is what an UPDATE sets. gorm leaves out zero values: the token stays that was stored at the read.
func grantTo(a Attempt) Order { return Order{Status: Granted, Driver: a.Driver} }

func win(a Attempt, token uint64) *Win {
	return &Win{OrderID: a.OrderID, Driver: a.Driver, Version: a.Version, Instance: a.Instance, Token: token, At: time.Now().UTC()}
}
