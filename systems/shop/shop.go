// Package shop has the four places of a shop where A3 takes a lock, each with its mistake and what mends it. buy.go has stock that is
// oversold, and once.go an order that is placed twice. state.go has an order that is paid and cancelled, and messages.go a message that
// is worked on twice. The data shows a mistake, not only the answers: each order, change and parcel is a row.
//
// A paid order gets its parcel, whatever fails: the payment writes the message into an outbox, where it stays until the parcel is packed.
//
// What is NOT guaranteed: a call without an answer may have been carried out. The stock checks no fencing token: a holder that lost its
// lock, and does not know it, can oversell, unless a conditional UPDATE sells. So can two ways to sell one item: a lock knows nothing of
// a conditional UPDATE beside it.
package shop

import (
	"context"
	"errors"
	"fmt"
)

// Item is what is sold.
type Item struct {
	ID     uint64 `gorm:"primaryKey;autoIncrement:false"`
	Pieces int64  `gorm:"not null"` // that there were at the beginning
	Stock  int64  `gorm:"not null"` // that are left, by the last write
}

// State of an order.
type State string

// An order is placed, and then either paid or cancelled.
const (
	Placed    State = "placed"
	Paid      State = "paid"
	Cancelled State = "cancelled"
)

// Order is what a buyer was promised.
type Order struct {
	ID       uint64   `gorm:"primaryKey"`
	ItemID   uint64   `gorm:"not null;index"`
	Buyer    uint64   `gorm:"not null"`
	Quantity int64    `gorm:"not null"`
	Left     int64    `gorm:"column:stock_left;not null"` // pieces that this buyer left in stock
	State    State    `gorm:"size:16;not null"`           // by the last write
	Single   *string  `gorm:"size:64;uniqueIndex"`        // buyer and item, where a unique key allows one order; NULL elsewhere
	Version  string   `gorm:"size:16;not null"`           // that sold it, as in the URL
	Instance string   `gorm:"size:64;not null"`           // that sold it
	Changes  []Change // one for each client that was told so; "paid" and "cancelled": the state was not guarded
	Parcels  []Parcel // several: a message was worked on twice
}

// Change is written for every client that is told that it changed an order.
type Change struct {
	ID      uint64 `gorm:"primaryKey"`
	OrderID uint64 `gorm:"not null;index"`
	To      State  `gorm:"column:to_state;size:16;not null"`
}

// Parcel is the work that a message asks for.
type Parcel struct {
	ID      uint64 `gorm:"primaryKey"`
	OrderID uint64 `gorm:"not null;index"`
	Worker  string `gorm:"size:64;not null"`
}

// Purchase is what a buyer wants.
type Purchase struct {
	ItemID, Buyer     uint64
	Quantity          int64
	Version, Instance string   // that sell it
	Attempt           *Attempt // of a request with an idempotency key; nil: it has none
}

// Report is what the database says about an item. More pieces sold than there were: it is oversold.
type Report struct {
	Item
	Orders   int64    // that are not cancelled
	Buyers   int64    // that have these
	Sold     int64    // pieces of these
	Versions []string // that sold these, sorted; several: no verdict on one of them
}

// Unaccounted is the number of pieces in stock and sold beyond those of the beginning: 0 when each piece is one or the other. More are left
// by a buyer that overwrote the stock of another, or by two ends of one order. Fewer: pieces have gone without an order.
func (r Report) Unaccounted() int64 { return r.Stock + r.Sold - r.Pieces }

// refusal is an answer: nothing was changed.
type refusal string

func (r refusal) Error() string { return "shop: " + string(r) }

// SoldOut is an [ErrSoldOut] with its numbers.
type SoldOut struct {
	Item         uint64
	Left, Wanted int64 // pieces
}

func (s SoldOut) Error() string {
	return fmt.Sprintf("%v: of item %d there are %d left, and %d were wanted", ErrSoldOut, s.Item, s.Left, s.Wanted)
}

// Unwrap returns [ErrSoldOut].
func (s SoldOut) Unwrap() error { return ErrSoldOut }

// Errors. After each but ErrUnavailable nothing was changed. After that, where no server gave a usable answer, it is unknown, unless the
// error is also ErrNotWritten: no connection to the database could be opened, or it refused to write.
var (
	ErrInvalid     error = refusal("invalid")
	ErrNotFound    error = refusal("not found")
	ErrSoldOut     error = refusal("not enough in stock")
	ErrDuplicate   error = refusal("duplicate order")
	ErrState       error = refusal("the state does not allow it")
	ErrInProgress  error = refusal("another attempt with this idempotency key is in progress")
	ErrKeyReused   error = refusal("the idempotency key belongs to another request")
	ErrUnavailable       = errors.New("shop: unavailable")
	ErrNotWritten        = errors.New("nothing was written")
)

// Locker runs fn while it holds key. fn's context ends when the lock is lost.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error
}

// The keys to lock, with a separator between two numbers. The braces keep a key in one slot of a cluster.
func itemKey(id uint64) string   { return fmt.Sprintf("lock:shop:item:{%d}", id) }
func orderKey(id uint64) string  { return fmt.Sprintf("lock:shop:order:{%d}", id) }
func buyerKey(p Purchase) string { return fmt.Sprintf("lock:shop:buyer:{%d:%d}", p.Buyer, p.ItemID) }
