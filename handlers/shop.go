package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/systems/shop"
)

// Headers of idempotency keys: the request's as in draft-ietf-httpapi-idempotency-key-header, the response's as in Stripe's API.
const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
	maxKeyLength   = 255
	attemptLease   = time.Minute // how long a request whose instance has died stays in progress
)

// saleResponse is what the database says about the sale of an item.
type saleResponse struct {
	Instance    string   `json:"instance"`
	Item        uint64   `json:"item"`
	Pieces      int64    `json:"pieces"`      // in stock at the beginning
	Stock       int64    `json:"stock"`       // left, by the last write
	Sold        int64    `json:"sold"`        // without cancelled orders
	Oversold    int64    `json:"oversold"`    // pieces that were sold but did not exist
	Unaccounted int64    `json:"unaccounted"` // stock + sold - pieces; not 0: one buyer overwrote another's stock
	Orders      int64    `json:"orders"`
	Buyers      int64    `json:"buyers"`   // fewer than orders: some buyers have several
	Versions    []string `json:"versions"` // that sold; if there are several, the result says nothing about any one of them
}

// buyResponse is the response to a buyer. All of a sale is stored, so that a repeated request gets the same response.
type buyResponse struct {
	Instance string `json:"instance"`
	Version  string `json:"version"`
	Item     uint64 `json:"item"`
	Buyer    uint64 `json:"buyer"`
	Quantity int64  `json:"quantity"`
	Sold     bool   `json:"sold"`
	Order    uint64 `json:"order,omitempty"`
	Left     *int64 `json:"left,omitempty"` // pieces in stock; absent if the request was refused for another reason
	Why      string `json:"why"`
}

type shopOrderResponse struct {
	Instance string       `json:"instance"`
	Order    uint64       `json:"order"`
	Item     uint64       `json:"item"`
	Buyer    uint64       `json:"buyer"`
	Quantity int64        `json:"quantity"`
	State    shop.State   `json:"state"`   // by the last write
	Changes  []shop.State `json:"changes"` // that clients were told of; two: the state was not guarded
	Parcels  int          `json:"parcels"`
}

func (a *api) addShopRoutes(r *gin.Engine) {
	const find = ": GET /shop/orders/:id shows its state"
	for _, v := range a.Versions {
		path, tag := "/"+v.Name+"/shop", a.tagVersion(v.Name)
		r.POST(path+"/items/:id/buy", tag,
			handle("the order may have been placed: repeat the request with the same "+keyHeader+" to find out", a.buy(v)))
		r.POST(path+"/orders/:id/pay", tag, handle("the order may be paid"+find, a.changeState(v, shop.Paid)))
		r.POST(path+"/orders/:id/cancel", tag, handle("the order may be cancelled"+find, a.changeState(v, shop.Cancelled)))
	}
	r.PUT("/shop/items/:id", a.requireAdmin, handle("the stock may have been set: GET the same path to find out", a.stockItem))
	r.GET("/shop/items/:id", handle("", a.getSale))
	r.GET("/shop/orders/:id", handle("", a.getShopOrder))
	r.POST("/shop/parcels", handle("", a.packParcels))
}

// stockItem starts a sale: it sets the stock of an item and removes what was sold of it before.
func (a *api) stockItem(c *gin.Context, request pathID) error {
	var body struct {
		Stock *int64 `json:"stock" binding:"required,min=0,max=2147483647"`
	}
	err := bindBody(c, &body, `{"stock": 0}, with a whole number from 0 to 2147483647`)
	if err == nil {
		err = a.Shop.Stock(c.Request.Context(), uint64(request.ID), *body.Stock)
	}
	if err != nil {
		return err
	}
	return a.getSale(c, request)
}

func (a *api) getSale(c *gin.Context, request pathID) error {
	r, err := a.Shop.Report(c.Request.Context(), uint64(request.ID))
	if err != nil {
		return itemError(err, request.ID)
	}
	c.JSON(http.StatusOK, saleResponse{
		Instance: a.Instance, Item: r.ID, Pieces: r.Pieces, Stock: r.Stock, Sold: r.Sold, Oversold: max(0, r.Sold-r.Pieces),
		Unaccounted: r.Unaccounted(), Orders: r.Orders, Buyers: r.Buyers, Versions: append([]string{}, r.Versions...),
	})
	return nil
}

// itemError names the item that does not exist, and how to create it.
func itemError(err error, item number) error {
	if errors.Is(err, shop.ErrNotFound) {
		return fmt.Errorf(`item %d: %w; PUT /shop/items/%[1]d with {"stock": 100} puts it on sale`, item, err)
	}
	return err
}

type buyRequest struct {
	pathID
	waitParameter
	Buyer    number  `form:"buyer" binding:"required"`
	Quantity *number `form:"quantity"`                                  // 1 if absent
	Once     string  `form:"once" binding:"omitempty,oneof=true false"` // "true": a buyer gets at most one order of the item
}

// buy sells an item under v's lock, or by a conditional UPDATE if v has none. With ?once=true the lock guards a check, or a unique key
// does. A repeated request with the same idempotency key gets the order of the first.
func (a *api) buy(v Version) func(*gin.Context, buyRequest) error {
	return func(c *gin.Context, request buyRequest) error {
		lock, err := a.lockFor(v, request.waitParameter)
		if err != nil {
			return err
		}
		one := number(1)
		p := shop.Purchase{
			ItemID: uint64(request.ID), Buyer: uint64(request.Buyer), Quantity: int64(*cmp.Or(request.Quantity, &one)),
			Version: v.Name, Instance: a.Instance,
		}
		order, err := a.sellOncePerKey(c, func(attempt *shop.Attempt) (shop.Order, error) {
			p.Attempt = attempt
			return a.sell(c.Request.Context(), lock, p, request.Once == "true")
		})
		response := buyResponse{Instance: a.Instance, Version: v.Name, Item: p.ItemID, Buyer: p.Buyer, Quantity: p.Quantity}
		switch {
		case errors.Is(err, shop.ErrSoldOut), errors.Is(err, shop.ErrDuplicate):
			response.Why = oneLine(err)
			if soldOut := new(shop.SoldOut); errors.As(err, soldOut) {
				response.Left = &soldOut.Left
			}
			c.JSON(http.StatusConflict, response)
			return nil
		case err != nil:
			return itemError(err, request.ID)
		}
		response.Sold, response.Order, response.Left, response.Why = true, order.ID, &order.Left, "there was enough in stock"
		response.Instance, response.Version = order.Instance, order.Version // of the first request with this key
		c.JSON(http.StatusCreated, response)
		return nil
	}
}

func (a *api) sell(ctx context.Context, lock Locker, p shop.Purchase, once bool) (shop.Order, error) {
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

// sellOncePerKey calls sell once for each idempotency key, or once for a request without a key.
func (a *api) sellOncePerKey(c *gin.Context, sell func(*shop.Attempt) (shop.Order, error)) (shop.Order, error) {
	keys := c.Request.Header.Values(keyHeader)
	switch {
	case len(keys) == 0:
		return sell(nil)
	case len(keys) > 1 || keys[0] == "" || len(keys[0]) > maxKeyLength:
		return shop.Order{}, badRequest("send %s once, with 1 to %d characters", keyHeader, maxKeyLength)
	}
	body, err := c.GetRawData()
	if err != nil {
		return shop.Order{}, bodyError(err)
	}
	query := c.Request.URL.Query()
	query.Del("wait") // a repetition with another wait is the same purchase
	content := c.Request.URL.EscapedPath() + "?" + query.Encode() + "\n" + string(body)
	order, replayed, err := a.Shop.Once(c.Request.Context(), keys[0], content, attemptLease, sell)
	if replayed && err == nil {
		c.Header(replayedHeader, "true")
	}
	return order, err
}

type changeRequest struct {
	pathID
	waitParameter
}

// changeState pays or cancels an order, under v's lock or by a conditional UPDATE. Paying an order queues a message to pack its parcel.
func (a *api) changeState(v Version, to shop.State) func(*gin.Context, changeRequest) error {
	return func(c *gin.Context, request changeRequest) error {
		lock, err := a.lockFor(v, request.waitParameter)
		if err != nil {
			return err
		}
		ctx, id := c.Request.Context(), uint64(request.ID)
		if lock == nil {
			err = a.Shop.ChangeAtomic(ctx, id, to)
		} else {
			err = a.Shop.Change(ctx, lock, id, to)
		}
		if err != nil {
			return orderError(err, request.ID)
		}
		if to == shop.Paid {
			_ = a.Parcels.Queue.Publish(context.WithoutCancel(ctx), id) // if this fails, a worker sends the message from the outbox
		}
		return a.getShopOrder(c, request.pathID)
	}
}

func (a *api) getShopOrder(c *gin.Context, request pathID) error {
	o, err := a.Shop.Order(c.Request.Context(), uint64(request.ID))
	if err != nil {
		return orderError(err, request.ID)
	}
	response := shopOrderResponse{a.Instance, o.ID, o.ItemID, o.Buyer, o.Quantity, o.State, []shop.State{}, len(o.Parcels)}
	for _, change := range o.Changes {
		response.Changes = append(response.Changes, change.To)
	}
	c.JSON(http.StatusOK, response)
	return nil
}

// packParcels handles all queued messages, including those that a dead worker left.
func (a *api) packParcels(c *gin.Context, _ noParameters) error {
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
