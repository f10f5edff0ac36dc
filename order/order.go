// Package order is the order that several drivers want to grab (A2). It may go to one of them.
//
// [Store.Grab] reads the order, thinks, and writes. The order may have changed by then: without a lock around it, every driver that
// read "open" is told that it won. [Store.GrabAtomic] is one conditional UPDATE, which needs no lock. Both write a [Win] for each
// driver that is told so, in the transaction that writes the order. Two winners are visible in the data, not only in answers.
//
// A holder with a fencing token registers it at the read, with a random name. Only the holder that has registered last can write; the
// others are refused ([ErrStale]). A read is refused, too, if the registered token is of the same lock and not older. So whatever happens
// to the locks, two holders with tokens do not both win, even if a split brain grants one token twice. A check at the write alone has a
// gap (experiment L22).
//
// A driver that has the order and asks again is told so ([Result].Again), and no second [Win] is written. After an error the
// result may be unknown. Repeat the attempt: its answer names the driver of the order. With tokens, the earlier
// attempt cannot win any more then.
//
// What is NOT guaranteed: a request without an answer may have won. A read or a write without a token is never refused, and may
// overwrite the win of a holder with one.
package order

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Status of an order.
type Status string

// An order is open until a driver has it.
const (
	Open    Status = "open"
	Granted Status = "granted"
)

// Order is what the drivers want.
type Order struct {
	ID        uint64    `gorm:"primaryKey"`
	Status    Status    `gorm:"size:16;not null"`
	Driver    uint64    `gorm:"not null"`                                        // driver that has the order, by the last write; 0: none
	Token     uint64    `gorm:"column:fence;not null;default:0"`                 // fencing token of the last holder that has read; 0: none
	Lock      string    `gorm:"column:fence_lock;size:16;not null;default:''"`   // version of that holder's lock
	Holder    string    `gorm:"column:fence_holder;size:32;not null;default:''"` // random name of that holder
	CreatedAt time.Time `gorm:"not null"`
	Wins      []Win     // one for each driver that was told it won; several: the lock did not exclude
}

// Win is written for every driver that is told it won.
type Win struct {
	ID       uint64    `gorm:"primaryKey"`
	OrderID  uint64    `gorm:"not null;index"`
	Driver   uint64    `gorm:"not null"`
	Version  string    `gorm:"size:16;not null"`      // that granted it, as in the URL
	Instance string    `gorm:"size:64;not null"`      // that granted it
	Token    uint64    `gorm:"column:fence;not null"` // fencing token of the lease; 0: none was issued
	At       time.Time `gorm:"not null"`
}

// Attempt is one driver's wish for one order.
type Attempt struct {
	OrderID  uint64
	Driver   uint64
	Version  string
	Instance string
}

// Result is what a driver is told.
type Result struct {
	Won    bool          // the driver has the order
	Again  bool          // it had won before this attempt, which wrote nothing
	Winner uint64        // driver that has the order
	Waited time.Duration // for the lock
	Held   time.Duration // from the grant until the work was done
	Token  uint64        // fencing token of the lease; 0: none was issued
}

// ErrNotFound says that there is no such order.
var ErrNotFound = errors.New("order: not found")

// ErrStale says that a read or a write was refused and changed nothing: another holder has read.
var ErrStale = errors.New("order: stale holder")

// ErrUnavailable says that the database gave no usable answer. Whether the attempt won is unknown.
var ErrUnavailable = errors.New("order: database unavailable")

// Locker runs fn while it holds key. fn's context ends when the lock is lost.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error
}

// LockKey is the key to lock around a grab. The braces keep all keys of an order in one slot of a cluster.
// It is a name on the wire: other programs use it to share the lock.
func LockKey(id uint64) string { return fmt.Sprintf("lock:order:{%d}", id) }
