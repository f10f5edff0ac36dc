package order

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"gorm.io/gorm"
)

// Grab reads the order and, if it is open, thinks and takes it, inside lock. A driver that reads an order that is taken does not
// think: it is told immediately which driver has it. The driver that has it is told so, and does not win again. No transaction is
// open while a driver thinks.
func (s *Store) Grab(ctx context.Context, lock Locker, a Attempt) (Result, error) {
	var result Result
	asked := time.Now()
	err := lock.Do(ctx, LockKey(a.OrderID), func(ctx context.Context, token uint64) error {
		granted := time.Now()
		defer func() { result.Held = time.Since(granted) }()
		result.Waited, result.Token = granted.Sub(asked), token

		by := holder{a.Version, token, rand.Text()}
		order, err := s.register(ctx, a.OrderID, by)
		if err != nil {
			return err
		}
		if order.Status != Open {
			result.taken(order.Driver, a)
			return nil
		}
		if s.think != nil {
			if err := s.think(ctx); err != nil {
				return err
			}
		}
		if err := s.write(ctx, a, by); err != nil {
			return err
		}
		result.Won, result.Winner = true, a.Driver
		return nil
	})
	return result, err
}

// GrabAtomic takes the order if it is open, in one conditional UPDATE: no thinking, no lock.
func (s *Store) GrabAtomic(ctx context.Context, a Attempt) (Result, error) {
	var won bool
	err := s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			update := tx.Model(&Order{ID: a.OrderID}).Where("status = ?", Open).Updates(grantTo(a))
			if won = update.RowsAffected == 1; !won {
				return update.Error
			}
			return tx.Create(win(a, 0)).Error
		})
	})
	if err != nil {
		return Result{}, err
	}
	if won {
		return Result{Won: true, Winner: a.Driver}, nil
	}
	order, err := s.read(ctx, a.OrderID)
	if err != nil {
		return Result{}, err
	}
	var result Result
	result.taken(order.Driver, a)
	return result, nil
}

// taken says that winner had the order before this attempt.
func (r *Result) taken(winner uint64, a Attempt) {
	r.Winner = winner
	r.Again = winner == a.Driver
	r.Won = r.Again
}

// pause waits for d. It returns an error when ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// ended is ctx's error, with its cause where the cause says more: for example, that the lock was lost.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return errors.Join(err, cause)
}
