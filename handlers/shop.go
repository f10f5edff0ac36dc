package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/shop"
)

// Idempotency keys, as draft-ietf-httpapi-idempotency-key-header has them. The header of a repeated answer is Stripe's.
const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
	longestKey     = 255         // characters
	attemptLease   = time.Minute // for which a request whose instance has died stays in progress
)

const theItem = "the item"

// saleAnswer is what the database says about an item: the verdict of a sale.
type saleAnswer struct {
	Instance    string   `json:"instance"`
	Item        uint64   `json:"item"`
	Pieces      int64    `json:"pieces"`      // that there were at the beginning
	Stock       int64    `json:"stock"`       // that are left, by the last write
	Sold        int64    `json:"sold"`        // pieces, without those of cancelled orders
	Oversold    int64    `json:"oversold"`    // pieces that were sold and not there
	Unaccounted int64    `json:"unaccounted"` // stock + sold - pieces; not 0: a buyer has overwritten another's stock
	Orders      int64    `json:"orders"`
	Buyers      int64    `json:"buyers"`   // fewer than orders: some have several
	Versions    []string `json:"versions"` // that sold; several: this is no verdict on one of them
}

// buyAnswer is the answer to a buyer. All of a sale is stored, so that a repetition gets the same.
type buyAnswer struct {
	Instance string `json:"instance"`
	Version  string `json:"version"`
	Item     uint64 `json:"item"`
	Buyer    uint64 `json:"buyer"`
	Quantity int64  `json:"quantity"`
	Sold     bool   `json:"sold"`
	Order    uint64 `json:"order,omitempty"`
	Left     *int64 `json:"left,omitempty"` // pieces in stock; absent: the request was refused for another reason
	Why      string `json:"why"`
}

type shopOrderAnswer struct {
	Instance string       `json:"instance"`
	Order    uint64       `json:"order"`
	Item     uint64       `json:"item"`
	Buyer    uint64       `json:"buyer"`
	Quantity int64        `json:"quantity"`
	State    shop.State   `json:"state"`   // by the last write
	Changes  []shop.State `json:"changes"` // that clients were told of; two: the state was not guarded
	Parcels  int          `json:"parcels"`
}

// shopRoutes adds the shop, if the instance has one.
func (a *api) shopRoutes(r *gin.Engine) {
	if a.Shop == nil {
		return
	}
	for _, v := range a.Versions {
		at, in := "/"+v.Name+"/shop", a.inVersion(v.Name)
		r.POST(at+"/items/:id/buy", in, identified(theItem, func(c *gin.Context, id uint64) error { return a.buy(c, v, id) }))
		r.POST(at+"/orders/:id/pay", in, identified(theOrder, a.change(v, shop.Paid)))
		r.POST(at+"/orders/:id/cancel", in, identified(theOrder, a.change(v, shop.Cancelled)))
	}
	r.PUT("/shop/items/:id", a.admin, identified(theItem, a.stockItem))
	r.GET("/shop/items/:id", identified(theItem, a.getSale))
	r.GET("/shop/orders/:id", identified(theOrder, a.getShopOrder))
	r.POST("/shop/parcels", answered(a.packParcels))
}

// stockItem begins a sale.
func (a *api) stockItem(c *gin.Context, item uint64) error {
	pieces, err := valueOf(c.Request.Body, "stock", maxID)
	if err == nil {
		err = a.Shop.Stock(c.Request.Context(), item, pieces)
	}
	if err != nil {
		return err
	}
	return a.getSale(c, item)
}

func (a *api) getSale(c *gin.Context, item uint64) error {
	r, err := a.Shop.Report(c.Request.Context(), item)
	if err != nil {
		return notInStock(err, item)
	}
	c.JSON(http.StatusOK, saleAnswer{
		Instance: a.Instance, Item: r.ID, Pieces: r.Pieces, Stock: r.Stock, Sold: r.Sold, Oversold: max(0, r.Sold-r.Pieces),
		Unaccounted: r.Unaccounted(), Orders: r.Orders, Buyers: r.Buyers, Versions: append([]string{}, r.Versions...),
	})
	return nil
}

func notInStock(err error, item uint64) error {
	if errors.Is(err, shop.ErrNotFound) {
		return fmt.Errorf(`item %d: %w; PUT /shop/items/%[1]d with {"stock": 100} puts it on sale`, item, err)
	}
	return err
}

// buy sells under v's lock, or by a conditional UPDATE. With once=true a buyer gets one order of the item: by a lock and a check, or by a
// unique key. A request with an idempotency key that comes again gets the order of the first.
func (a *api) buy(c *gin.Context, v Version, item uint64) error {
	p := shop.Purchase{ItemID: item, Quantity: 1, Version: v.Name, Instance: a.Instance}
	once, err := read(c, &p)
	if err != nil {
		return err
	}
	lock, err := a.lockOf(c, v)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	sell := func(attempt *shop.Attempt) (shop.Order, error) {
		p.Attempt = attempt
		switch {
		case lock == nil && once:
			return a.Shop.SubmitUnique(ctx, p)
		case lock == nil:
			return a.Shop.BuyAtomic(ctx, p)
		case once:
			return a.Shop.Submit(ctx, lock, p, true)
		}
		return a.Shop.Buy(ctx, lock, p)
	}
	order, err := a.withKey(c, sell)
	answer := buyAnswer{
		Instance: a.Instance, Version: v.Name, Item: p.ItemID, Buyer: p.Buyer, Quantity: p.Quantity,
		Sold: true, Order: order.ID, Left: &order.Left, Why: "there was enough in stock",
	}
	switch {
	case errors.Is(err, shop.ErrSoldOut), errors.Is(err, shop.ErrDuplicate):
		answer.Sold, answer.Left, answer.Why = false, nil, sentence(err)
		if none := new(shop.SoldOut); errors.As(err, none) {
			answer.Left = &none.Left
		}
		c.JSON(http.StatusConflict, answer)
		return nil
	case err != nil:
		return notInStock(maybe(err, "the order may have been placed: the same request again, with the same "+keyHeader+", tells"), p.ItemID)
	}
	answer.Instance, answer.Version = order.Instance, order.Version // of the first answer
	c.JSON(http.StatusCreated, answer)
	return nil
}

// withKey sells once for each idempotency key, if the request has one.
func (a *api) withKey(c *gin.Context, sell func(*shop.Attempt) (shop.Order, error)) (shop.Order, error) {
	keys := c.Request.Header.Values(keyHeader)
	switch {
	case len(keys) == 0:
		return sell(nil)
	case len(keys) > 1 || keys[0] == "" || len(keys[0]) > longestKey:
		return shop.Order{}, badRequest("%s must be there once, with 1 to %d characters", keyHeader, longestKey)
	}
	body, err := c.GetRawData()
	if err != nil {
		return shop.Order{}, unread(err)
	}
	query := c.Request.URL.Query()
	query.Del("wait") // the same purchase, however long it waits
	content := c.Request.URL.EscapedPath() + "?" + query.Encode() + "\n" + string(body)
	order, replayed, err := a.Shop.Once(c.Request.Context(), keys[0], content, attemptLease, sell)
	if replayed && err == nil {
		c.Header(replayedHeader, "true")
	}
	return order, err
}

// read reads what a buyer wants from the query.
func read(c *gin.Context, p *shop.Purchase) (once bool, err error) {
	texts := make(map[string]string)
	for _, name := range []string{"buyer", "quantity", "once"} {
		if texts[name], err = one(c, name); err != nil {
			return false, err
		}
	}
	if p.Buyer, err = number("buyer", texts["buyer"]); err != nil {
		return false, err
	}
	if text, given := c.GetQuery("quantity"); given {
		quantity, err := number("quantity", text)
		if err != nil {
			return false, err
		}
		p.Quantity = int64(quantity)
	}
	switch texts["once"] {
	case "", "false":
	case "true":
		once = true
	default:
		err = badRequest("once is %.20q; allowed are true and false", texts["once"])
	}
	return once, err
}

// change pays or cancels an order, under v's lock or by a conditional UPDATE. A paid order gets a message for its parcel.
func (a *api) change(v Version, to shop.State) func(c *gin.Context, id uint64) error {
	return func(c *gin.Context, id uint64) error {
		lock, err := a.lockOf(c, v)
		if err != nil {
			return err
		}
		ctx := c.Request.Context()
		if lock == nil {
			err = a.Shop.ChangeAtomic(ctx, id, to)
		} else {
			err = a.Shop.Change(ctx, lock, id, to)
		}
		if err != nil {
			return notThis(maybe(err, fmt.Sprintf("the order may be %s: GET /shop/orders/%d tells", to, id)), id)
		}
		if to == shop.Paid {
			_ = a.Parcels.Queue.Publish(context.WithoutCancel(ctx), id) // if it fails, a worker sends what is in the outbox
		}
		return a.getShopOrder(c, id)
	}
}

func (a *api) getShopOrder(c *gin.Context, id uint64) error {
	o, err := a.Shop.Order(c.Request.Context(), id)
	if err != nil {
		return notThis(err, id)
	}
	answer := shopOrderAnswer{a.Instance, o.ID, o.ItemID, o.Buyer, o.Quantity, o.State, []shop.State{}, len(o.Parcels)}
	for _, change := range o.Changes {
		answer.Changes = append(answer.Changes, change.To)
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// packParcels works on all messages that wait, also on those of workers that have died.
func (a *api) packParcels(c *gin.Context) error {
	for messages := 0; ; messages++ {
		switch worked, err := a.Parcels.Next(c.Request.Context()); {
		case err != nil:
			return fmt.Errorf("after %d messages: %w", messages, err)
		case !worked:
			c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "messages": messages})
			return nil
		}
	}
}
