// Package order keeps orders that several drivers try to grab (A2). Each order may go to one driver only.
//
// [Store.Grab] reads the order, thinks, and writes it. In the meantime another driver may have taken the order: without a lock, every
// driver that read "open" is told that it won. [Store.GrabAtomic] is one conditional UPDATE, which needs no lock. Both write a [Win] for
// each driver that is told so, in the same transaction as the order. So two winners show in the data, not only in the responses.
//
// A holder with a fencing token registers the token when it reads, together with a random name. Only the holder that registered last can
// write; the others get [ErrStale]. A read is refused as well if the same lock has already registered this token or a newer one. So two
// holders with tokens never both win, whatever happens to the locks, even if a split brain grants one token twice. Checking the token at
// the write alone leaves a gap (experiment L22).
//
// After an error the result may be unknown. Repeat the attempt to learn which driver has the order: a driver that has it is told so
// ([Result].AlreadyWon), and no second [Win] is written. With tokens, the earlier attempt can no longer win then.
//
// Not guaranteed: a request without an answer may have won. A read or write without a token is never refused, and may overwrite the win
// of a holder with one.
package order

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Status is the status of an order.
type Status string

// An order is open until a driver gets it.
const (
	Open    Status = "open"
	Granted Status = "granted"
)

// Order is an order that drivers try to grab.
type Order struct {
	ID        uint64    `gorm:"primaryKey"`
	Status    Status    `gorm:"size:16;not null"`
	Driver    uint64    `gorm:"not null"`                                        // who has the order, by the last write; 0: nobody
	Token     uint64    `gorm:"column:fence;not null;default:0"`                 // fencing token of the last holder that read; 0: none
	Lock      string    `gorm:"column:fence_lock;size:16;not null;default:''"`   // version whose lock that holder has
	Holder    string    `gorm:"column:fence_holder;size:32;not null;default:''"` // random name of that holder
	CreatedAt time.Time `gorm:"not null"`
	Wins      []Win     // one for each driver that was told it won; more than one: the lock failed
}

// Win records that a driver was told it won.
type Win struct {
	ID       uint64    `gorm:"primaryKey"`
	OrderID  uint64    `gorm:"not null;index"`
	Driver   uint64    `gorm:"not null"`
	Version  string    `gorm:"size:16;not null"`      // that the driver used, as in the URL
	Instance string    `gorm:"size:64;not null"`      // that the driver used
	Token    uint64    `gorm:"column:fence;not null"` // fencing token of the lease; 0: none
	At       time.Time `gorm:"not null"`
}

// Attempt is one driver's attempt to grab one order.
type Attempt struct {
	OrderID  uint64
	Driver   uint64
	Version  string
	Instance string
}

// Result is what a driver is told.
type Result struct {
	Won        bool          // the driver has the order
	AlreadyWon bool          // the driver had the order before this attempt, which wrote nothing
	Winner     uint64        // the driver that has the order
	Waited     time.Duration // for the lock
	Held       time.Duration // from the grant to the end of the work
	Token      uint64        // fencing token of the lease; 0: none
}

// ErrNotFound says that the order does not exist.
var ErrNotFound = errors.New("order: not found")

// ErrStale says that a read or write was refused because another holder has read since. Nothing was changed.
var ErrStale = errors.New("order: stale holder")

// ErrUnavailable says that the database gave no usable answer. Unless the error is also [ErrNotWritten], the attempt may have won.
var ErrUnavailable = errors.New("order: database unavailable")

// ErrNotWritten is part of an [ErrUnavailable] when no connection to the database could be opened, or the database refused to write.
var ErrNotWritten = errors.New("nothing was written")

// Locker runs fn while it holds key. fn's context ends when the lock is lost.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error
}

// LockKey returns the key to lock around a grab. Other programs use the same key. The braces keep all keys of an order in one slot of a
// cluster.
func LockKey(id uint64) string { return fmt.Sprintf("lock:order:{%d}", id) }
