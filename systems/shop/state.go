package shop

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// Change pays or cancels an order: it reads the state, thinks, and writes, inside lock. If lock excludes nobody, that state may be old.
func (s *Store) Change(ctx context.Context, lock Locker, id uint64, to State) error {
	read := func(db *gorm.DB) error {
		var order Order
		if err := db.Take(&order, id).Error; err != nil || order.State == Placed {
			return err
		}
		return order.refuses(to)
	}
	return s.locked(ctx, lock, orderKey(id), read, func(tx *gorm.DB) error { return change(tx, "id = ?", id, to) })
}

// ChangeAtomic pays or cancels an order if it is placed, in one conditional UPDATE, without a lock.
func (s *Store) ChangeAtomic(ctx context.Context, id uint64, to State) error {
	return s.transaction(ctx, func(tx *gorm.DB) error { return change(tx, "id = ? AND state = 'placed'", id, to) })
}

// change writes the state where a condition holds, and records that the client is told so. A cancelled order gives its pieces back, and
// a paid one owes the message for its parcel.
func change(tx *gorm.DB, condition string, id uint64, to State) error {
	update := tx.Model(&Order{}).Where(condition, id).Update("state", to)
	var order Order
	switch err := errors.Join(update.Error, tx.Take(&order, id).Error); {
	case err != nil:
		return err
	case update.RowsAffected == 0:
		return order.refuses(to)
	case to == Cancelled:
		err := tx.Model(&Item{ID: order.ItemID}).Update("stock", gorm.Expr("stock + ?", order.Quantity)).Error
		return errors.Join(err, tx.Create(&Change{OrderID: id, To: to}).Error)
	}
	return errors.Join(owe(tx, id), tx.Create(&Change{OrderID: id, To: to}).Error)
}

func (o Order) refuses(to State) error {
	return fmt.Errorf("%w: order %d is %s, and not %s", ErrState, o.ID, o.State, to)
}
