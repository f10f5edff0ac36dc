package handlers

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/order"
)

// orderID is what error messages call the id of an order.
const orderID = "the order's id"

type orderResponse struct {
	Instance string        `json:"instance"`
	ID       uint64        `json:"id"`
	Status   string        `json:"status"`
	Driver   uint64        `json:"driver"`  // who has the order; 0: none
	Winners  []winResponse `json:"winners"` // all drivers that were told they won; more than one: the lock failed
}

type winResponse struct {
	Driver   uint64    `json:"driver"`
	Version  string    `json:"version"`
	Instance string    `json:"instance"`
	Token    uint64    `json:"fence"`
	At       time.Time `json:"at"`
}

// grabResponse is what winners and losers get.
type grabResponse struct {
	Instance string  `json:"instance"`
	Version  string  `json:"version"`
	Order    uint64  `json:"order"`
	Driver   uint64  `json:"driver"`
	Won      bool    `json:"won"`
	Again    bool    `json:"again,omitempty"` // the driver had won before this request, which wrote nothing
	Winner   uint64  `json:"winner"`
	Why      string  `json:"why"`
	WaitedMS float64 `json:"waited_ms"` // for the lock
	HeldMS   float64 `json:"held_ms"`   // from the grant to the end of the work
	Token    uint64  `json:"fence"`     // fencing token of the lease; 0: this version has none
}

func (a *api) createOrder(c *gin.Context) error {
	o, err := a.Orders.Create(c.Request.Context())
	if err != nil {
		return addAdvice(err, "the order may have been created, but its id is unknown: repeating the request creates another order")
	}
	c.Header("Location", fmt.Sprintf("/orders/%d", o.ID))
	c.JSON(http.StatusCreated, a.newOrderResponse(o))
	return nil
}

func (a *api) getOrder(c *gin.Context, id uint64) error {
	o, err := a.Orders.Get(c.Request.Context(), id)
	if err != nil {
		return orderError(err, id)
	}
	c.JSON(http.StatusOK, a.newOrderResponse(o))
	return nil
}

func (a *api) newOrderResponse(o order.Order) orderResponse {
	response := orderResponse{Instance: a.Instance, ID: o.ID, Status: string(o.Status), Driver: o.Driver, Winners: []winResponse{}}
	for _, w := range o.Wins {
		response.Winners = append(response.Winners, winResponse{w.Driver, w.Version, w.Instance, w.Token, w.At})
	}
	return response
}

// grab lets a driver try to get an order under v's lock. A loser learns which driver has the order. A winner whose response was lost may
// repeat the request: it learns that it won, and nothing is written.
func (a *api) grab(v Version) gin.HandlerFunc {
	return handleID(orderID, func(c *gin.Context, id uint64) error {
		text, err := queryParam(c, "driver")
		if err != nil {
			return err
		}
		driver, err := parseNumber("driver", text)
		if err != nil {
			return err
		}
		lock, err := a.lockFor(c, v)
		if err != nil {
			return err
		}
		attempt := order.Attempt{OrderID: id, Driver: driver, Version: v.Name, Instance: a.Instance}
		var result order.Result
		if ctx := c.Request.Context(); lock == nil {
			result, err = a.Orders.GrabAtomic(ctx, attempt)
		} else {
			result, err = a.Orders.Grab(ctx, lock, attempt)
		}
		if err != nil {
			return orderError(addAdvice(err, "the driver may have won: repeat the request to find out"), id)
		}
		status, why := http.StatusOK, "the order was open"
		switch {
		case result.AlreadyWon:
			why = "this driver already has the order"
		case !result.Won:
			status, why = http.StatusConflict, fmt.Sprintf("driver %d already has the order", result.Winner)
		}
		c.JSON(status, grabResponse{
			Instance: a.Instance, Version: v.Name, Order: id, Driver: driver,
			Won: result.Won, Again: result.AlreadyWon, Winner: result.Winner, Why: why,
			WaitedMS: milliseconds(result.Waited), HeldMS: milliseconds(result.Held), Token: result.Token,
		})
		return nil
	})
}

func orderError(err error, id uint64) error { return fmt.Errorf("order %d: %w", id, err) }
