package handlers

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"locklab/pview"
)

type viewResponse struct {
	Instance string  `json:"instance"`
	Version  string  `json:"version"`
	Value    int64   `json:"value"`     // what was written
	WaitedMS float64 `json:"waited_ms"` // for the lock
	HeldMS   float64 `json:"held_ms"`   // from the grant to the end of the work
	Token    uint64  `json:"fence"`     // fencing token of the lease; 0: this version has none
}

// increment counts a page view under v's lock.
func (a *api) increment(v Version) func(*gin.Context, waitParameter) error {
	return func(c *gin.Context, request waitParameter) error {
		lock, err := a.lockFor(v, request)
		if err != nil {
			return err
		}
		var view pview.View
		if ctx := c.Request.Context(); lock == nil {
			view, err = a.Views.IncrementAtomic(ctx)
		} else {
			view, err = a.Views.Increment(ctx, v.Name, lock)
		}
		if err != nil {
			return err
		}
		c.Set("value", view.Value)
		respond(c, a.Instance+" increase pview end!", viewResponse{ // the text is exactly as in A4
			Instance: a.Instance, Version: v.Name, Value: view.Value,
			WaitedMS: milliseconds(view.Waited), HeldMS: milliseconds(view.Held), Token: view.Token,
		})
		return nil
	}
}

type getViewRequest struct {
	From string `form:"from" binding:"omitempty,oneof=master replica"`
}

// getView reads the counter from the master, or from a replica, where it may be stale.
func (a *api) getView(c *gin.Context, request getViewRequest) error {
	read := a.Views.Get
	if request.From == "replica" {
		read = a.Views.GetStale
	}
	value, err := read(c.Request.Context())
	if err == nil {
		a.respondValue(c, value)
	}
	return err
}

// setView sets the counter, as A4 does with "set pview 0". JavaScript represents integers up to the largest value exactly.
func (a *api) setView(c *gin.Context, _ noParameters) error {
	var body struct {
		Value *int64 `json:"value" binding:"required,min=0,max=9007199254740991"`
	}
	err := bindBody(c, &body, `{"value": 0}, with a whole number from 0 to 9007199254740991`)
	if err == nil {
		err = a.Views.Set(c.Request.Context(), *body.Value)
	}
	if err == nil {
		a.respondValue(c, *body.Value)
	}
	return err
}

func (a *api) respondValue(c *gin.Context, value int64) {
	respond(c, fmt.Sprint(value), gin.H{"instance": a.Instance, "value": value})
}

// respond sends JSON, or text if the request's Accept header lists it first.
func respond(c *gin.Context, text string, response any) {
	if c.NegotiateFormat(gin.MIMEJSON, gin.MIMEPlain) == gin.MIMEPlain {
		c.String(http.StatusOK, "%s", text)
	} else {
		c.JSON(http.StatusOK, response)
	}
}
