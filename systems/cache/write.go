package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"gorm.io/gorm"
)

// UpdateThenDelete updates the database and deletes the key, which the next reader fills. A reader that has loaded before the update may
// fill after the delete. A delete that fails, or a crash before it, leaves the old item.
type UpdateThenDelete struct {
	Database Writer
	Cache    Deleter
}

// Put implements [Writer].
func (w UpdateThenDelete) Put(ctx context.Context, id uint64, text string) (Item, error) {
	item, err := w.Database.Put(ctx, id, text)
	if err == nil {
		err = w.Cache.Delete(context.WithoutCancel(ctx), id) // also when the caller has left
	}
	return item, err
}

// DeleteThenUpdate deletes first. Every reader between the two steps fills the old item.
type DeleteThenUpdate struct {
	Database Writer
	Cache    Deleter
}

// Put implements [Writer].
func (w DeleteThenUpdate) Put(ctx context.Context, id uint64, text string) (Item, error) {
	if err := w.Cache.Delete(ctx, id); err != nil {
		return Item{}, err
	}
	return w.Database.Put(ctx, id, text)
}

// UpdateThenSet fills the new item in. Of two writers, the first to update may be the last to fill.
type UpdateThenSet struct {
	Database Writer
	Cache    *Redis
}

// Put implements [Writer].
func (w UpdateThenSet) Put(ctx context.Context, id uint64, text string) (Item, error) {
	item, err := w.Database.Put(ctx, id, text)
	if err == nil {
		err = w.Cache.Set(context.WithoutCancel(ctx), item)
	}
	return item, err
}

// SetThenUpdate fills the new item in before the database has it, so without its version. Of two writers, the first to fill may be the
// last to update. If the database refuses the update, the cache has an item that the database never had.
type SetThenUpdate struct {
	Database Writer
	Cache    *Redis
}

// Put implements [Writer].
func (w SetThenUpdate) Put(ctx context.Context, id uint64, text string) (Item, error) {
	if err := w.Cache.Set(ctx, Item{ID: id, Text: text}); err != nil {
		return Item{}, err
	}
	return w.Database.Put(context.WithoutCancel(ctx), id, text) // readers see the item already
}

// DoubleDelete deletes again after a delay, in the background, whatever a reader has filled meanwhile. The delay must be longer than the
// slowest load and fill. A second delete that fails, or a crash before it, leaves an old item: see [DeleteLog].
type DoubleDelete struct {
	UpdateThenDelete
	Delay   time.Duration
	waiting sync.WaitGroup
}

// Put implements [Writer]. It returns after the first delete.
func (w *DoubleDelete) Put(ctx context.Context, id uint64, text string) (Item, error) {
	item, err := w.UpdateThenDelete.Put(ctx, id, text)
	if item.ID != 0 { // the update is done, and perhaps not the delete
		w.waiting.Go(func() {
			time.Sleep(w.Delay)
			_ = w.Cache.Delete(context.WithoutCancel(ctx), id)
		})
	}
	return item, err
}

// Close waits for the deletes that are still to come.
func (w *DoubleDelete) Close() error { w.waiting.Wait(); return nil }

// pendingDelete is a delete that was not confirmed yet.
type pendingDelete struct {
	ID     uint64 `gorm:"primaryKey"`
	ItemID uint64 `gorm:"not null"`
}

func (pendingDelete) TableName() string { return "cache_deletes" }

// DeleteLog writes each delete into a log, in the transaction of the update, and retries it until it is done.
type DeleteLog struct {
	Database *Database
	Cache    Deleter
}

// Put implements [Writer]. It returns when the update and the log are written, even if the first delete fails.
func (w DeleteLog) Put(ctx context.Context, id uint64, text string) (Item, error) {
	var pending pendingDelete
	item, err := w.Database.put(ctx, id, text, func(tx *gorm.DB) error {
		pending = pendingDelete{ItemID: id} // without the number of a first try
		return tx.Create(&pending).Error
	})
	if err == nil {
		_ = w.do(ctx, pending)
	}
	return item, err
}

func (w DeleteLog) do(ctx context.Context, pending pendingDelete) error {
	err := w.Cache.Delete(ctx, pending.ItemID)
	if err == nil {
		err = w.Database.do(ctx, func(db *gorm.DB) error { return db.Delete(&pending).Error })
	}
	return err
}

// Retry does the deletes that are in the log, those of other processes too, and returns how many it found.
func (w DeleteLog) Retry(ctx context.Context) (found int, err error) {
	var log []pendingDelete
	err = w.Database.do(ctx, func(db *gorm.DB) error { return db.Order("id").Limit(1000).Find(&log).Error })
	for _, pending := range log {
		err = errors.Join(err, w.do(ctx, pending))
	}
	return len(log), err
}
