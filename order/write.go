package order

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// write grants the order to the attempt, even if another driver has it by now: it trusts what was read, as A2 does. It checks only
// that no holder with a newer fencing token has written. It does so in the UPDATE itself: a separate check could pass before such a
// write and act after it. An equal token is the same holder, which may write twice. Without a token nothing is checked, and the
// stored one stays.
func (s *Store) write(ctx context.Context, a Attempt, token uint64) error {
	return s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			update := tx.Model(&Order{ID: a.OrderID})
			if token > 0 {
				update = update.Where("fence <= ?", token)
			}
			update = update.Updates(grantTo(a, token))
			if update.Error != nil {
				return update.Error
			}
			if update.RowsAffected == 0 { // rows that match, changed or not: see ClientFoundRows
				return refused(tx, a.OrderID, token)
			}
			return tx.Create(win(a, token)).Error
		})
	})
}

// refused says why an UPDATE matched no row.
func refused(tx *gorm.DB, id, token uint64) error {
	var order Order
	if err := tx.Take(&order, id).Error; err != nil {
		return err
	}
	return fmt.Errorf("%w: its fencing token is %d, and a holder with the newer token %d has written; nothing was changed",
		ErrStale, token, order.Token)
}

// grantTo is what an UPDATE sets. gorm leaves out zero values: a write without a token does not lower the stored one.
func grantTo(a Attempt, token uint64) Order {
	return Order{Status: Granted, Driver: a.Driver, Token: token}
}

func win(a Attempt, token uint64) *Win {
	return &Win{OrderID: a.OrderID, Driver: a.Driver, Version: a.Version, Instance: a.Instance, Token: token, At: time.Now().UTC()}
}
