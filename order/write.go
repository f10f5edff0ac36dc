package order

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// holder is what the database knows of one: the version of its lock, its fencing token, and a name that no other holder has.
type holder struct {
	Lock  string
	Token uint64
	Name  string
}

// The conditions under which a [holder] may read, and write. Two masters of a split brain can grant one token to two holders. The second
// of them is refused at the read, unless a holder of another lock has read between them. Then their names tell them apart at the write.
// Tokens of two locks are not compared: the numbers of etcd and of Redis have nothing to do with each other.
const (
	mayRead  = "(fence_lock <> @Lock OR fence < @Token)"
	mayWrite = "(fence_lock = @Lock AND fence = @Token AND fence_holder = @Name)"
)

// register reads the order for a holder and stores its fencing token and name. From then on no other holder can write, until one has
// read. Both happen in one transaction, which ends before the driver thinks. Without a token it reads only.
func (s *Store) register(ctx context.Context, id uint64, by holder) (order Order, err error) {
	if by.Token == 0 {
		return s.read(ctx, id)
	}
	err = s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := by.update(tx, id, mayRead, Order{Token: by.Token, Lock: by.Lock, Holder: by.Name}); err != nil {
				return err
			}
			return tx.Take(&order, id).Error
		})
	})
	return order, err
}

// write grants the order to the attempt, even if another driver has it by now: it trusts what was read, as A2 does. It checks only
// that the holder is registered. Without a token nothing is checked, and the registered one stays.
func (s *Store) write(ctx context.Context, a Attempt, by holder) error {
	return s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := by.update(tx, a.OrderID, mayWrite, grantTo(a)); err != nil {
				return err
			}
			return tx.Create(win(a, by.Token)).Error
		})
	})
}

// update updates the order if the holder may. The check is a condition of the UPDATE: a separate one could pass before another holder
// comes and act after it.
func (h holder) update(tx *gorm.DB, id uint64, may string, to Order) error {
	update := tx.Model(&Order{ID: id})
	if h.Token > 0 {
		update = update.Where(may, h)
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
		fmt.Sprint(h.Lock, " ", h.Token), fmt.Sprint(order.Lock, " ", order.Token))
}

// grantTo is what an UPDATE sets. gorm leaves out zero values: the token stays that was stored at the read.
func grantTo(a Attempt) Order { return Order{Status: Granted, Driver: a.Driver} }

func win(a Attempt, token uint64) *Win {
	return &Win{OrderID: a.OrderID, Driver: a.Driver, Version: a.Version, Instance: a.Instance, Token: token, At: time.Now().UTC()}
}
