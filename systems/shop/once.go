package shop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"locklab/internal/tables"
)

// Submit places an order inside a lock of the buyer and the item. Without the check the lock makes the second submission wait, and then
// it is an order, too. A conditional UPDATE guards the stock.
func (s *Store) Submit(ctx context.Context, lock Locker, p Purchase, check bool) (order Order, err error) {
	read := func(*gorm.DB) error { return nil }
	if check {
		read = p.ordered
	}
	err = s.locked(ctx, lock, buyerKey(p), read, func(tx *gorm.DB) error { return p.take(tx, nil, &order) })
	return order, err
}

// ordered refuses a buyer that has an order of the item.
func (p Purchase) ordered(db *gorm.DB) error {
	var n int64
	err := db.Model(&Order{}).Where("item_id = ? AND buyer = ? AND state <> ?", p.ItemID, p.Buyer, Cancelled).Count(&n).Error
	if err != nil || n == 0 {
		return err
	}
	return fmt.Errorf("%w: buyer %d already has an order of item %d", ErrDuplicate, p.Buyer, p.ItemID)
}

// SubmitUnique places an order that a unique key of buyer and item allows once. The transaction that fails gives its pieces back.
func (s *Store) SubmitUnique(ctx context.Context, p Purchase) (order Order, err error) {
	single := fmt.Sprintf("%d:%d", p.Buyer, p.ItemID)
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		err := p.take(tx, &single, &order)
		if duplicate(tx, err) {
			return fmt.Errorf("%w: buyer %d already has an order of item %d", ErrDuplicate, p.Buyer, p.ItemID)
		}
		return err
	})
	return order, err
}

// Attempt is one attempt at a request with an idempotency key, and the row that remembers the request.
type Attempt struct {
	Key         string    `gorm:"column:request_key;primaryKey;size:64"` // hashed: a collation may take two keys for one
	Fingerprint string    `gorm:"size:64;not null"`
	Number      uint64    `gorm:"not null"`
	Until       time.Time `gorm:"not null"`                 // the attempt is in progress until then; later another one may take over
	OrderID     uint64    `gorm:"not null;default:0;index"` // 0: it is not done
}

// Once lets fn place an order for the first request with a key, and returns that order for each repetition. fn must use the attempt
// in its [Purchase]. The same key with another content (path, parameters or body) is [ErrKeyReused]. While an attempt is in progress, a
// repetition is [ErrInProgress]; after lease another attempt takes over. A failed attempt forgets the key: nothing was done.
func (s *Store) Once(ctx context.Context, key, content string, lease time.Duration, fn func(*Attempt) (Order, error)) (Order, bool, error) {
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	a := Attempt{Key: hash(key), Fingerprint: hash(content), Number: 1, Until: time.Now().UTC().Add(lease)}
	switch err := s.do(ctx, a.begin); {
	case tables.NotExecuted(err):
		return Order{}, false, fmt.Errorf("%w by this request", notWritten(err)) // an earlier one with the key may have placed the order
	case err != nil:
		return Order{}, false, err
	}
	if a.OrderID > 0 {
		order, err := s.Order(ctx, a.OrderID)
		return order, true, err
	}
	order, err := fn(&a)
	if err != nil {
		_ = s.do(context.WithoutCancel(ctx), func(db *gorm.DB) error { // an attempt that is done after all stays
			return db.Where("number = ? AND order_id = 0", a.Number).Delete(&Attempt{Key: a.Key}).Error
		})
	}
	return order, false, err
}

// begin begins an attempt, or reads one that is done.
func (a *Attempt) begin(db *gorm.DB) error {
	err := db.Create(a).Error
	if !duplicate(db, err) {
		return err
	}
	var known Attempt
	switch err := db.Take(&known, "request_key = ?", a.Key).Error; {
	case errors.Is(err, gorm.ErrRecordNotFound): // it has just failed
		return ErrInProgress
	case err != nil:
		return err
	case known.Fingerprint != a.Fingerprint:
		return ErrKeyReused
	case known.OrderID > 0:
		*a = known
		return nil
	case time.Now().Before(known.Until):
		return ErrInProgress
	}
	a.Number = known.Number + 1
	return known.update(db, Attempt{Number: a.Number, Until: a.Until})
}

// update changes the row of an attempt in progress. An attempt that another one has taken over is refused, and so is its transaction.
func (a *Attempt) update(db *gorm.DB, to Attempt) error {
	update := db.Model(&Attempt{Key: a.Key}).Where("number = ? AND order_id = 0", a.Number).Updates(to)
	if update.Error == nil && update.RowsAffected == 0 {
		return ErrInProgress
	}
	return update.Error
}
