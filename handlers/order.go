package handlers

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/order"
)

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

func (a *api) createOrder(c *gin.Context, _ noParameters) error {
	o, err := a.Orders.Create(c.Request.Context())
	if err != nil {
		return err
	}
	c.Header("Location", fmt.Sprintf("/orders/%d", o.ID))
	c.JSON(http.StatusCreated, a.newOrderResponse(o))
	return nil
}

func (a *api) getOrder(c *gin.Context, request pathID) error {
	o, err := a.Orders.Get(c.Request.Context(), uint64(request.ID))
	if err != nil {
		return orderError(err, request.ID)
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

type grabRequest struct {
	pathID
	waitParameter
	Driver number `form:"driver" binding:"required"`
}

// grab lets a driver try to get an order under v's lock. A loser learns which driver has the order. A winner whose response was lost may
// repeat the request: it learns that it won, and nothing is written.
func (a *api) grab(v Version) func(*gin.Context, grabRequest) error {
	return func(c *gin.Context, request grabRequest) error {
		lock, err := a.lockFor(v, request.waitParameter)
		if err != nil {
			return err
		}
		attempt := order.Attempt{OrderID: uint64(request.ID), Driver: uint64(request.Driver), Version: v.Name, Instance: a.Instance}
		var result order.Result
		if ctx := c.Request.Context(); lock == nil {
			result, err = a.Orders.GrabAtomic(ctx, attempt)
		} else {
			result, err = a.Orders.Grab(ctx, lock, attempt)
		}
		if err != nil {
			return orderError(err, request.ID)
		}
		status, why := http.StatusOK, "the order was open"
		switch {
		case result.AlreadyWon:
			why = "this driver already has the order"
		case !result.Won:
			status, why = http.StatusConflict, fmt.Sprintf("driver %d already has the order", result.Winner)
		}
		c.JSON(status, grabResponse{
			Instance: a.Instance, Version: v.Name, Order: attempt.OrderID, Driver: attempt.Driver,
			Won: result.Won, Again: result.AlreadyWon, Winner: result.Winner, Why: why,
			WaitedMS: milliseconds(result.Waited), HeldMS: milliseconds(result.Held), Token: result.Token,
		})
		return nil
	}
}

func orderError(err error, id number) error { return fmt.Errorf("order %d: %w", id, err) }
