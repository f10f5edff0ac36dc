package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"locklab/pview"
)

// viewAnswer is the answer to a counted view.
type viewAnswer struct {
	Instance string  `json:"instance"`
	Version  string  `json:"version"`
	Value    int64   `json:"value"`     // that was written
	WaitedMS float64 `json:"waited_ms"` // for the lock
	HeldMS   float64 `json:"held_ms"`   // the lock, until the work was done
	Fence    uint64  `json:"fence"`     // of the lease; 0: this version issues none
}

// increment counts one view the way v does.
func (a *api) increment(v Version) gin.HandlerFunc {
	count := a.Views.IncrementAtomic
	if v.Lock != nil {
		count = func(ctx context.Context) (pview.View, error) { return a.Views.Increment(ctx, v.Lock) }
	}
	return func(c *gin.Context) {
		view, err := count(c.Request.Context())
		if err != nil {
			fail(c, err)
			return
		}
		c.Set("value", view.Value)
		if wantsText(c) { // A4's answer, to the letter
			c.String(http.StatusOK, "%s increase pview end!", a.Instance)
			return
		}
		c.JSON(http.StatusOK, viewAnswer{
			Instance: a.Instance, Version: v.Name, Value: view.Value,
			WaitedMS: milliseconds(view.Waited), HeldMS: milliseconds(view.Held), Fence: view.Fence,
		})
	}
}

// getView reads the counter: at the master, or with ?from=replica where it may be old.
func (a *api) getView(c *gin.Context) {
	read := a.Views.Get
	switch from, _ := one(c, "from"); from {
	case "", "master":
	case "replica":
		read = a.Views.GetStale
	default:
		fail(c, badRequest("from is %.20q; allowed are master and replica", from))
		return
	}
	value, err := read(c.Request.Context())
	a.answerValue(c, value, err)
}

// setView writes the counter: A4's "set pview 0".
func (a *api) setView(c *gin.Context) {
	value, err := valueOf(c.Request.Body)
	if err != nil {
		fail(c, err)
		return
	}
	a.answerValue(c, value, a.Views.Set(c.Request.Context(), value))
}

func (a *api) answerValue(c *gin.Context, value int64, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	if wantsText(c) {
		c.String(http.StatusOK, fmt.Sprint(value))
		return
	}
	c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "value": value})
}

// valueOf reads {"value": N}, with nothing missing and nothing more.
func valueOf(body io.Reader) (int64, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return 0, badRequest("the body could not be read: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var set struct {
		Value *int64 `json:"value"`
	}
	err = decoder.Decode(&set)
	if err != nil || set.Value == nil || decoder.More() || *set.Value < 0 {
		return 0, badRequest(`the body is %.40q; send {"value": 0}, a whole number from 0`, text)
	}
	return *set.Value, nil
}

// wantsText reports whether the client asked for plain text before JSON.
func wantsText(c *gin.Context) bool {
	return c.NegotiateFormat(gin.MIMEJSON, gin.MIMEPlain) == gin.MIMEPlain
}
