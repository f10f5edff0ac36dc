package handlers

import (
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

// itemID is what error messages call the id of an item.
const itemID = "the item's id"

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
	for _, v := range a.Versions {
		path, tag := "/"+v.Name+"/shop", a.tagVersion(v.Name)
		r.POST(path+"/items/:id/buy", tag, handleID(itemID, func(c *gin.Context, id uint64) error { return a.buy(c, v, id) }))
		r.POST(path+"/orders/:id/pay", tag, handleID(orderID, a.changeState(v, shop.Paid)))
		r.POST(path+"/orders/:id/cancel", tag, handleID(orderID, a.changeState(v, shop.Cancelled)))
	}
	r.PUT("/shop/items/:id", a.requireAdmin, handleID(itemID, a.stockItem))
	r.GET("/shop/items/:id", handleID(itemID, a.getSale))
	r.GET("/shop/orders/:id", handleID(orderID, a.getShopOrder))
	r.POST("/shop/parcels", handle(a.packParcels))
}

// stockItem starts a sale: it sets the stock of an item and removes what was sold of it before.
func (a *api) stockItem(c *gin.Context, item uint64) error {
	pieces, err := parseIntField(c.Request.Body, "stock", maxID)
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
		return itemError(err, item)
	}
	c.JSON(http.StatusOK, saleResponse{
		Instance: a.Instance, Item: r.ID, Pieces: r.Pieces, Stock: r.Stock, Sold: r.Sold, Oversold: max(0, r.Sold-r.Pieces),
		Unaccounted: r.Unaccounted(), Orders: r.Orders, Buyers: r.Buyers, Versions: append([]string{}, r.Versions...),
	})
	return nil
}

// itemError names the item that does not exist, and how to create it.
func itemError(err error, item uint64) error {
	if errors.Is(err, shop.ErrNotFound) {
		return fmt.Errorf(`item %d: %w; PUT /shop/items/%[1]d with {"stock": 100} puts it on sale`, item, err)
	}
	return err
}

// buy sells an item under v's lock, or by a conditional UPDATE if v has none. With ?once=true a buyer gets at most one order of the item:
// the lock guards a check, or a unique key does. A repeated request with the same idempotency key gets the order of the first.
func (a *api) buy(c *gin.Context, v Version, item uint64) error {
	p := shop.Purchase{ItemID: item, Quantity: 1, Version: v.Name, Instance: a.Instance}
	once, err := parsePurchase(c, &p)
	if err != nil {
		return err
	}
	lock, err := a.lockFor(c, v)
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
	order, err := a.sellOncePerKey(c, sell)
	response := buyResponse{
		Instance: a.Instance, Version: v.Name, Item: p.ItemID, Buyer: p.Buyer, Quantity: p.Quantity,
		Sold: true, Order: order.ID, Left: &order.Left, Why: "there was enough in stock",
	}
	switch {
	case errors.Is(err, shop.ErrSoldOut), errors.Is(err, shop.ErrDuplicate):
		response.Sold, response.Left, response.Why = false, nil, oneLine(err)
		if soldOut := new(shop.SoldOut); errors.As(err, soldOut) {
			response.Left = &soldOut.Left
		}
		c.JSON(http.StatusConflict, response)
		return nil
	case err != nil:
		return itemError(addAdvice(err, "the order may have been placed: repeat the request with the same "+keyHeader+" to find out"), p.ItemID)
	}
	response.Instance, response.Version = order.Instance, order.Version // of the first request with this key
	c.JSON(http.StatusCreated, response)
	return nil
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

// parsePurchase reads the buyer and the quantity from the query into p, and whether the buyer may have one order only.
func parsePurchase(c *gin.Context, p *shop.Purchase) (once bool, err error) {
	texts := make(map[string]string)
	for _, name := range []string{"buyer", "quantity", "once"} {
		if texts[name], err = queryParam(c, name); err != nil {
			return false, err
		}
	}
	if p.Buyer, err = parseNumber("buyer", texts["buyer"]); err != nil {
		return false, err
	}
	if text, given := c.GetQuery("quantity"); given {
		quantity, err := parseNumber("quantity", text)
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
		err = badRequest("once is %.20q; it must be true or false", texts["once"])
	}
	return once, err
}

// changeState pays or cancels an order, under v's lock or by a conditional UPDATE. Paying an order queues a message to pack its parcel.
func (a *api) changeState(v Version, to shop.State) func(c *gin.Context, id uint64) error {
	return func(c *gin.Context, id uint64) error {
		lock, err := a.lockFor(c, v)
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
			return orderError(addAdvice(err, fmt.Sprintf("the order may be %s: check with GET /shop/orders/%d", to, id)), id)
		}
		if to == shop.Paid {
			_ = a.Parcels.Queue.Publish(context.WithoutCancel(ctx), id) // if this fails, a worker sends the message from the outbox
		}
		return a.getShopOrder(c, id)
	}
}

func (a *api) getShopOrder(c *gin.Context, id uint64) error {
	o, err := a.Shop.Order(c.Request.Context(), id)
	if err != nil {
		return orderError(err, id)
	}
	response := shopOrderResponse{a.Instance, o.ID, o.ItemID, o.Buyer, o.Quantity, o.State, []shop.State{}, len(o.Parcels)}
	for _, change := range o.Changes {
		response.Changes = append(response.Changes, change.To)
	}
	c.JSON(http.StatusOK, response)
	return nil
}

// packParcels handles all queued messages, including those that a dead worker left.
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
