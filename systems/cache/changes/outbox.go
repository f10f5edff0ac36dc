package changes

import (
	"context"
	"strconv"
	"time"

	"gorm.io/gorm"

	"locklab/internal/tables"
)

// change is a row of the outbox.
type change struct {
	ID     uint64 `gorm:"primaryKey"`
	ItemID uint64 `gorm:"not null"`
}

func (change) TableName() string { return "cache_changes" }

// Outbox tells changes that triggers have written into a table, in the transaction of each write. It stands in for a binlog with SQLite,
// which has one writer at a time. With several writers the rows may be committed in another order than they are numbered, and a change
// could be left out.
type Outbox struct {
	DB    *gorm.DB
	Table string        // whose rows are told; they have a column id
	Every time.Duration // the pause between two looks
	Sure  func()        // is called after each look, when all that was there is told; nil: nobody asks
}

// Install creates the table and its triggers, in SQLite. Until ctx ends it waits for other writers.
func (o Outbox) Install(ctx context.Context) error {
	return answered(ctx, tables.WaitToWrite(o.DB.WithContext(ctx), o.install))
}

func (o Outbox) install(db *gorm.DB) error {
	if err := db.AutoMigrate(&change{}); err != nil {
		return err
	}
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		row := "NEW"
		if event == "DELETE" {
			row = "OLD"
		}
		err := db.Exec("CREATE TRIGGER IF NOT EXISTS cache_" + event + " AFTER " + event + " ON " + o.Table +
			" BEGIN INSERT INTO cache_changes (item_id) VALUES (" + row + ".id); END").Error
		if err != nil {
			return err
		}
	}
	return nil
}

// Now implements [Source].
func (o Outbox) Now(ctx context.Context) (string, error) {
	var last uint64
	err := o.DB.WithContext(ctx).Model(&change{}).Select("COALESCE(MAX(id), 0)").Scan(&last).Error
	if err != nil {
		return "", answered(ctx, err)
	}
	return strconv.FormatUint(last, 10), nil
}

// Follow implements [Source]. Without a position it tells all that there are.
func (o Outbox) Follow(ctx context.Context, after string, tell func(Change) error) error {
	const page = 100
	last, _ := strconv.ParseUint(after, 10, 64) // "": 0
	for {
		var rows []change
		if err := o.DB.WithContext(ctx).Order("id").Limit(page).Find(&rows, "id > ?", last).Error; err != nil {
			return answered(ctx, err)
		}
		for _, row := range rows {
			last = row.ID
			if err := tell(Change{row.ItemID, strconv.FormatUint(last, 10)}); err != nil {
				return err
			}
		}
		if o.Sure != nil && len(rows) < page {
			o.Sure()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(o.Every):
		}
	}
}
