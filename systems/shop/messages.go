package shop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"
)

// The queue's names in Redis, and how long Redis remembers a message that was marked there.
const (
	stream  = "shop:paid"
	group   = "parcels"
	markFor = 24 * time.Hour
)

// Queue brings messages about paid orders to workers, each at least once: a stream with acknowledgement.
type Queue struct{ Redis redis.Cmdable }

// message says that an order is paid. One that is published twice has two ids and one order.
type message struct {
	id    string
	order uint64
}

// Publish sends the message that an order is paid.
func (q Queue) Publish(ctx context.Context, order uint64) error {
	return answered(ctx, q.Redis.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"order", order}}).Err())
}

// next returns a message that another worker took and did not acknowledge for so long, or else a new one; nil: there is none.
func (q Queue) next(ctx context.Context, worker string, idle time.Duration) (*message, error) {
	_ = q.Redis.XGroupCreateMkStream(ctx, stream, group, "0").Err() // it may be there; if it is not, the next command fails
	claim := &redis.XAutoClaimArgs{Stream: stream, Group: group, Consumer: worker, MinIdle: idle, Start: "0", Count: 1}
	found, _, err := q.Redis.XAutoClaim(ctx, claim).Result()
	if err == nil && len(found) == 0 {
		read := &redis.XReadGroupArgs{Group: group, Consumer: worker, Streams: []string{stream, ">"}, Count: 1, Block: -1}
		var streams []redis.XStream
		if streams, err = q.Redis.XReadGroup(ctx, read).Result(); err == nil {
			found = streams[0].Messages
		}
	}
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, err
	}
	order, err := strconv.ParseUint(fmt.Sprint(found[0].Values["order"]), 10, 64)
	return &message{found[0].ID, order}, err
}

// Guard is how a worker recognises a message that it has worked on before.
type Guard string

// The guards. MarkBefore and MarkAfter mark it in Redis, before or after the work in the database. OneTransaction does both there, and
// empties the outbox: it is the only guard under which every paid order gets one parcel.
const (
	NoGuard        Guard = "none"
	MarkBefore     Guard = "mark-before"
	MarkAfter      Guard = "mark-after"
	OneTransaction Guard = "transaction"
)

// Worker packs a parcel for each paid order.
type Worker struct {
	Name  string
	Queue Queue
	Store *Store
	Guard Guard
	Idle  time.Duration // after which it takes over a message of another worker
}

// handled is the mark of a message in the database.
type handled struct {
	OrderID uint64 `gorm:"primaryKey;autoIncrement:false"`
}

// Next works on one message and acknowledges it. It reports false when there is none, in the outbox neither. After an error the message
// comes back.
func (w Worker) Next(ctx context.Context) (worked bool, err error) {
	m, err := w.Queue.next(ctx, w.Name, w.Idle)
	if err == nil && m == nil && w.Guard == OneTransaction {
		if err = w.Store.sendOwed(ctx, w.Queue); err == nil {
			m, err = w.Queue.next(ctx, w.Name, w.Idle)
		}
	}
	if err != nil || m == nil {
		return false, answered(ctx, err)
	}
	switch _, err = w.Store.Order(ctx, m.order); {
	case errors.Is(err, ErrNotFound): // a new stock has removed the order
		err = w.Store.do(ctx, func(db *gorm.DB) error { return settle(db, m.order) })
	case err == nil:
		err = w.handle(ctx, m)
	}
	if err == nil {
		err = w.Queue.Redis.XAck(ctx, stream, group, m.id).Err()
	}
	if err == nil {
		err = w.Queue.Redis.XDel(ctx, stream, m.id).Err()
	}
	return err == nil, answered(ctx, err)
}

// handle does the work, and marks the message elsewhere, in the same transaction, or not at all.
func (w Worker) handle(ctx context.Context, m *message) error {
	key := fmt.Sprintf("shop:handled:%d", m.order)
	switch w.Guard {
	case OneTransaction:
		return w.inTransaction(ctx, m)
	case MarkBefore:
		if first, err := w.Queue.Redis.SetNX(ctx, key, w.Name, markFor).Result(); err != nil || !first {
			return err
		}
	case MarkAfter:
		if n, err := w.Queue.Redis.Exists(ctx, key).Result(); err != nil || n > 0 {
			return err
		}
	}
	err := w.Store.transaction(ctx, func(tx *gorm.DB) error { return tx.Create(&Parcel{OrderID: m.order, Worker: w.Name}).Error })
	if err == nil && w.Guard == MarkAfter {
		err = w.Queue.Redis.Set(ctx, key, w.Name, markFor).Err()
	}
	return err
}

// inTransaction marks the message, does the work and takes the message out of the outbox: all or nothing.
func (w Worker) inTransaction(ctx context.Context, m *message) error {
	return w.Store.transaction(ctx, func(tx *gorm.DB) error {
		err := tx.Create(&handled{m.order}).Error
		switch {
		case err == nil:
			err = tx.Create(&Parcel{OrderID: m.order, Worker: w.Name}).Error
		case duplicate(tx, err): // it was worked on before
			err = nil
		}
		return errors.Join(err, settle(tx, m.order))
	})
}

// answered turns an error of Redis into one of this package's.
func answered(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
