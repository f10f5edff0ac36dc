package handlers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"locklab/pview"
)

// maxValue is the largest value that the counter can be set to: JavaScript represents integers up to it exactly.
const maxValue = 1<<53 - 1

type viewResponse struct {
	Instance string  `json:"instance"`
	Version  string  `json:"version"`
	Value    int64   `json:"value"`     // what was written
	WaitedMS float64 `json:"waited_ms"` // for the lock
	HeldMS   float64 `json:"held_ms"`   // from the grant to the end of the work
	Token    uint64  `json:"fence"`     // fencing token of the lease; 0: this version has none
}

// increment counts a page view under v's lock.
func (a *api) increment(v Version) gin.HandlerFunc {
	return handle(func(c *gin.Context) error {
		lock, err := a.lockFor(c, v)
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
			return addAdvice(err, "the view may have been counted: read the counter with GET /pview to find out")
		}
		c.Set("value", view.Value)
		if prefersText(c) { // exactly as in A4
			c.String(http.StatusOK, "%s increase pview end!", a.Instance)
			return nil
		}
		c.JSON(http.StatusOK, viewResponse{
			Instance: a.Instance, Version: v.Name, Value: view.Value,
			WaitedMS: milliseconds(view.Waited), HeldMS: milliseconds(view.Held), Token: view.Token,
		})
		return nil
	})
}

// getView reads the counter from the master, or from a replica with ?from=replica, where it may be stale.
func (a *api) getView(c *gin.Context) error {
	from, err := queryParam(c, "from")
	read := a.Views.Get
	switch {
	case err != nil:
		return err
	case from == "" || from == "master":
	case from == "replica":
		read = a.Views.GetStale
	default:
		return badRequest("from is %.20q; it must be master or replica", from)
	}
	value, err := read(c.Request.Context())
	if err != nil {
		return err
	}
	return a.respondValue(c, value)
}

// setView sets the counter, as A4 does with "set pview 0".
func (a *api) setView(c *gin.Context) error {
	value, err := parseIntField(c.Request.Body, "value", maxValue)
	if err != nil {
		return err
	}
	if err := a.Views.Set(c.Request.Context(), value); err != nil {
		return addAdvice(err, "the counter may have been set: read it with GET /pview to find out")
	}
	return a.respondValue(c, value)
}

func (a *api) respondValue(c *gin.Context, value int64) error {
	if prefersText(c) {
		c.String(http.StatusOK, fmt.Sprint(value))
	} else {
		c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "value": value})
	}
	return nil
}

// parseIntField parses {"NAME": N} with N from 0 to limit, and rejects anything else.
func parseIntField(body io.Reader, name string, limit int64) (int64, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return 0, bodyError(err)
	}
	number, _ := onlyField(data, name).(json.Number)
	value, parseErr := strconv.ParseInt(string(number), 10, 64)
	if parseErr != nil || value < 0 || value > limit {
		return 0, badRequest(`the body is %.40q; send {"%s": 0}, with a whole number from 0 to %d`, data, name, limit)
	}
	return value, nil
}

// onlyField returns the value of {"NAME": value}, a [json.Number] or a string, or nil if data is anything else. Decode is too lenient
// here: it accepts "Value" for "value", and takes the last of two values.
func onlyField(data []byte, name string) json.Token {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var got [4]json.Token
	for i := range got {
		got[i], _ = decoder.Token() // nil after an error
	}
	_, end := decoder.Token()
	if want := [...]json.Token{json.Delim('{'), name, got[2], json.Delim('}')}; got != want || end != io.EOF {
		return nil
	}
	return got[2]
}

// prefersText reports whether the client prefers plain text to JSON, by the q values of its Accept header. Among equal values the first
// wins.
func prefersText(c *gin.Context) bool {
	text, best := false, 0.0
	for accepted := range strings.SplitSeq(strings.Join(c.Request.Header.Values("Accept"), ","), ",") {
		kind, parameters, _ := mime.ParseMediaType(accepted)
		q, err := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		if err != nil || !(q > best) {
			continue
		}
		switch kind {
		case "text/plain", "text/*":
			text, best = true, q
		case "application/json", "application/*", "*/*":
			text, best = false, q
		}
	}
	return text
}
