package handlers

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/order"
)

const theOrder = "the order's id"

type orderAnswer struct {
	Instance string      `json:"instance"`
	ID       uint64      `json:"id"`
	Status   string      `json:"status"`
	Driver   uint64      `json:"driver"`  // that has it; 0: none
	Winners  []winAnswer `json:"winners"` // all drivers that were told they won
}

type winAnswer struct {
	Driver   uint64    `json:"driver"`
	Version  string    `json:"version"`
	Instance string    `json:"instance"`
	Token    uint64    `json:"fence"`
	At       time.Time `json:"at"`
}

// grabAnswer is the answer to a driver, to winners and losers alike.
type grabAnswer struct {
	Instance string  `json:"instance"`
	Version  string  `json:"version"`
	Order    uint64  `json:"order"`
	Driver   uint64  `json:"driver"`
	Won      bool    `json:"won"`
	Again    bool    `json:"again,omitempty"` // it had won before this request, which wrote nothing
	Winner   uint64  `json:"winner"`
	Why      string  `json:"why"`
	WaitedMS float64 `json:"waited_ms"` // for the lock
	HeldMS   float64 `json:"held_ms"`   // from the grant until the work was done
	Token    uint64  `json:"fence"`     // fencing token of the lease; 0: this version issues none
}

func (a *api) createOrder(c *gin.Context) error {
	o, err := a.Orders.Create(c.Request.Context())
	if err != nil {
		return maybe(err, "the order may have been made, and its number is unknown: a repeated request makes another one")
	}
	c.Header("Location", fmt.Sprintf("/orders/%d", o.ID))
	c.JSON(http.StatusCreated, a.orderAnswer(o))
	return nil
}

func (a *api) getOrder(c *gin.Context, id uint64) error {
	o, err := a.Orders.Get(c.Request.Context(), id)
	if err != nil {
		return notThis(err, id)
	}
	c.JSON(http.StatusOK, a.orderAnswer(o))
	return nil
}

func (a *api) orderAnswer(o order.Order) orderAnswer {
	answer := orderAnswer{Instance: a.Instance, ID: o.ID, Status: string(o.Status), Driver: o.Driver, Winners: []winAnswer{}}
	for _, w := range o.Wins {
		answer.Winners = append(answer.Winners, winAnswer{w.Driver, w.Version, w.Instance, w.Token, w.At})
	}
	return answer
}

// grab lets a driver try to get an order under v's lock. A loser is told which driver has it. The winner may ask again, because the
// first answer may be lost: it is told that it won, and nothing is written.
func (a *api) grab(v Version) gin.HandlerFunc {
	return identified(theOrder, func(c *gin.Context, id uint64) error {
		text, err := one(c, "driver")
		if err != nil {
			return err
		}
		driver, err := number("driver", text)
		if err != nil {
			return err
		}
		lock, err := a.lockOf(c, v)
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
			return notThis(maybe(err, "the driver may have won: the same request again tells"), id)
		}
		status, why := http.StatusOK, "the order was open"
		switch {
		case result.Again:
			why = "this driver already has the order"
		case !result.Won:
			status, why = http.StatusConflict, fmt.Sprintf("driver %d already has the order", result.Winner)
		}
		c.JSON(status, grabAnswer{
			Instance: a.Instance, Version: v.Name, Order: id, Driver: driver,
			Won: result.Won, Again: result.Again, Winner: result.Winner, Why: why,
			WaitedMS: milliseconds(result.Waited), HeldMS: milliseconds(result.Held), Token: result.Token,
		})
		return nil
	})
}

func notThis(err error, id uint64) error { return fmt.Errorf("order %d: %w", id, err) }
