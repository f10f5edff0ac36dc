// Package order is the order that several drivers want to grab (A2). It may go to one of them.
//
// [Store.Grab] reads the order, thinks, and writes: what it read may be old by then, and without a
// lock around it every driver who read "open" is told that it won. [Store.GrabAtomic] is one
// conditional UPDATE, which needs no lock. Each writes a [Win] for the driver it told so, in the
// same transaction as the order: two winners are visible in the data, not only in answers.
//
// A write under a lease with a fence is refused ([ErrStale]) once a holder with a newer fence has
// written the order.
//
// What is NOT guaranteed: a request without an answer may have won. A write without a fence is never
// refused. Nor is a stale holder's that comes before the newer holder's: the order has not seen the
// newer fence yet, for reading does not show it.
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
	Driver    uint64    `gorm:"not null"`           // who has it, by the last write; 0: nobody
	Fence     uint64    `gorm:"not null;default:0"` // the newest that a write came with; 0: none did
	CreatedAt time.Time `gorm:"not null"`
	Wins      []Win     // everybody who was told it won; more than one: the lock was no lock
}

// Win is written for every driver that is told it won.
type Win struct {
	ID       uint64    `gorm:"primaryKey"`
	OrderID  uint64    `gorm:"not null;index"`
	Driver   uint64    `gorm:"not null"`
	Version  string    `gorm:"size:16;not null"` // that granted it, as in the URL
	Instance string    `gorm:"size:64;not null"` // that granted it
	Fence    uint64    `gorm:"not null"`         // of the lease it was granted under; 0: none was issued
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
	Won    bool
	Winner uint64        // who has the order: the driver itself if it won
	Waited time.Duration // for the lock
	Held   time.Duration // from the grant until the work was done
	Fence  uint64        // of the lease; 0: none was issued
}

// ErrNotFound says that there is no such order.
var ErrNotFound = errors.New("order: not found")

// ErrStale says that the write was refused, and changed nothing: a holder with a newer fence has written.
var ErrStale = errors.New("order: stale holder")

// ErrUnavailable says that the database gave no usable answer. Whether the attempt won is unknown.
var ErrUnavailable = errors.New("order: database unavailable")

// Locker runs fn while it holds key. fn's context ends when the lock is lost.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, fence uint64) error) error
}

// LockKey names what to lock around a grab. The braces keep all keys of an order in one slot of a
// cluster. It is a name on the wire: other programs that lock with us use it.
func LockKey(id uint64) string { return fmt.Sprintf("lock:order:{%d}", id) }
