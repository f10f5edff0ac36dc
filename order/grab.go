package order

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"gorm.io/gorm"
)

// Grab reads the order while it holds lock and, if the order is open, thinks and takes it. A driver that finds the order taken does not
// think, and is told who has it. The driver that has it already is told so and does not win again. No transaction is open while a driver
// thinks.
func (s *Store) Grab(ctx context.Context, lock Locker, a Attempt) (Result, error) {
	var result Result
	start := time.Now()
	err := lock.Do(ctx, LockKey(a.OrderID), func(ctx context.Context, token uint64) error {
		granted := time.Now()
		defer func() { result.Held = time.Since(granted) }()
		result.Waited, result.Token = granted.Sub(start), token

		h := holder{a.Version, token, rand.Text()}
		order, err := s.readAndRegister(ctx, a.OrderID, h)
		if err != nil {
			return err
		}
		if order.Status != Open {
			result.setTaken(order.Driver, a)
			return nil
		}
		if s.think != nil {
			if err := s.think(ctx); err != nil {
				return err
			}
		}
		if err := s.write(ctx, a, h); err != nil {
			return err
		}
		result.Won, result.Winner = true, a.Driver
		return nil
	})
	return result, err
}

// GrabAtomic takes the order if it is open, with one conditional UPDATE. It needs no lock, and the driver does not think.
func (s *Store) GrabAtomic(ctx context.Context, a Attempt) (Result, error) {
	var won bool
	err := s.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			update := tx.Model(&Order{ID: a.OrderID}).Where("status = ?", Open).Updates(grant(a))
			if won = update.RowsAffected == 1; !won {
				return update.Error
			}
			return tx.Create(newWin(a, 0)).Error
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
	result.setTaken(order.Driver, a)
	return result, nil
}

// setTaken sets the result of an attempt that found the order taken.
func (r *Result) setTaken(winner uint64, a Attempt) {
	r.Winner = winner
	r.AlreadyWon = winner == a.Driver
	r.Won = r.AlreadyWon
}

// sleep waits for d. It returns an error if ctx is done first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}

// ctxError returns ctx's error together with its cause, which may say more: that the lock was lost, for example.
func ctxError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return errors.Join(err, cause)
}
