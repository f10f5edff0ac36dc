package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/order"
)

// maxID bounds orders and drivers: what fits every database's signed integer.
const maxID = 1<<31 - 1

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
		return err
	}
	c.Header("Location", fmt.Sprintf("/orders/%d", o.ID))
	c.JSON(http.StatusCreated, a.orderAnswer(o))
	return nil
}

func (a *api) getOrder(c *gin.Context) error {
	id, err := number("the order's id", c.Param("id"))
	if err != nil {
		return err
	}
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
	try := a.Orders.GrabAtomic
	if v.Lock != nil {
		try = func(ctx context.Context, at order.Attempt) (order.Result, error) {
			return a.Orders.Grab(ctx, v.Lock, at)
		}
	}
	return answered(func(c *gin.Context) error {
		attempt, err := attemptOf(c)
		if err != nil {
			return err
		}
		attempt.Version, attempt.Instance = v.Name, a.Instance
		result, err := try(c.Request.Context(), attempt)
		if err != nil {
			return notThis(maybe(err, "the driver may have won: the same request again tells"), attempt.OrderID)
		}
		status, why := http.StatusOK, "the order was open"
		switch {
		case result.Again:
			why = "this driver already has the order"
		case !result.Won:
			status, why = http.StatusConflict, fmt.Sprintf("driver %d already has the order", result.Winner)
		}
		c.JSON(status, grabAnswer{
			Instance: a.Instance, Version: v.Name, Order: attempt.OrderID, Driver: attempt.Driver,
			Won: result.Won, Again: result.Again, Winner: result.Winner, Why: why,
			WaitedMS: milliseconds(result.Waited), HeldMS: milliseconds(result.Held), Token: result.Token,
		})
		return nil
	})
}

func attemptOf(c *gin.Context) (order.Attempt, error) {
	id, err := number("the order's id", c.Param("id"))
	if err != nil {
		return order.Attempt{}, err
	}
	text, err := one(c, "driver")
	if err != nil {
		return order.Attempt{}, err
	}
	driver, err := number("driver", text)
	return order.Attempt{OrderID: id, Driver: driver}, err
}

func one(c *gin.Context, name string) (string, error) {
	values := c.QueryArray(name)
	if len(values) > 1 {
		return "", badRequest("%s is given %d times; give it once", name, len(values))
	}
	return c.Query(name), nil
}

func number(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > maxID {
		return 0, badRequest("%s is %.20q; it must be a whole number from 1 to %d", name, text, maxID)
	}
	return n, nil
}

func notThis(err error, id uint64) error { return fmt.Errorf("order %d: %w", id, err) }
