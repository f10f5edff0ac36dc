package order

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// write grants the order to the attempt, whoever has it by now: it trusts what was read, as A2 does.
// What it does check, in the UPDATE itself, is that no holder with a newer fence has written: a check
// beside it could pass before such a write and act after it. An equal fence is the same holder, who
// may write twice. Without a fence nothing is checked, and the stored one stays.
func (s *Store) write(ctx context.Context, a Attempt, fence uint64) error {
	return s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			update := tx.Model(&Order{ID: a.OrderID})
			if fence > 0 {
				update = update.Where("fence <= ?", fence)
			}
			update = update.Updates(grantTo(a, fence))
			if update.Error != nil {
				return update.Error
			}
			if update.RowsAffected == 0 { // rows that match, changed or not: see ClientFoundRows
				return refused(tx, a.OrderID, fence)
			}
			return tx.Create(win(a, fence)).Error
		})
	})
}

// refused says why an UPDATE found no row.
func refused(tx *gorm.DB, id, fence uint64) error {
	var order Order
	if err := tx.Take(&order, id).Error; err != nil {
		return err
	}
	return fmt.Errorf("%w: its fence is %d, and a newer holder with the fence %d has written; nothing was changed",
		ErrStale, fence, order.Fence)
}

// grantTo is what an UPDATE sets. gorm leaves out what is zero: no fence never lowers a stored one.
func grantTo(a Attempt, fence uint64) Order {
	return Order{Status: Granted, Driver: a.Driver, Fence: fence}
}

func win(a Attempt, fence uint64) *Win {
	return &Win{OrderID: a.OrderID, Driver: a.Driver, Version: a.Version, Instance: a.Instance, Fence: fence, At: time.Now().UTC()}
}
