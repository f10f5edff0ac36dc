package shop

import (
	"context"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// owed is a message that has to be sent: a row of the outbox. The payment writes it in its own transaction, and the parcel removes it in
// its own. So no message is lost when a process dies after the payment, when Redis is away, or when Redis loses its data.
type owed struct {
	OrderID uint64 `gorm:"primaryKey;autoIncrement:false"`
}

// TableName implements gorm's Tabler.
func (owed) TableName() string { return "shop_outbox" }

// owe writes the message of a paid order. An order that is paid twice has one.
func owe(tx *gorm.DB, order uint64) error {
	return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&owed{order}).Error
}

// settle removes the message of an order that has its parcel, or that is gone.
func settle(tx *gorm.DB, order uint64) error { return tx.Delete(&owed{order}).Error }

// sendOwed sends the messages in the outbox. Call it when the queue is empty: then they are not in it, or another worker has them at
// this moment. So a message may be sent twice, and the worker's [Guard] recognises it.
func (s *Store) sendOwed(ctx context.Context, to Queue) error {
	var rows []owed
	err := s.do(ctx, func(db *gorm.DB) error { return db.Order("order_id").Limit(100).Find(&rows).Error })
	for _, row := range rows {
		err = errors.Join(err, to.Publish(ctx, row.OrderID))
	}
	return err
}
