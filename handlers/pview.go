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

// maxValue bounds what the counter is set to: JavaScript reads numbers up to it exactly.
const maxValue = 1<<53 - 1

type viewAnswer struct {
	Instance string  `json:"instance"`
	Version  string  `json:"version"`
	Value    int64   `json:"value"`     // that was written
	WaitedMS float64 `json:"waited_ms"` // for the lock
	HeldMS   float64 `json:"held_ms"`   // from the grant until the work was done
	Token    uint64  `json:"fence"`     // fencing token of the lease; 0: this version issues none
}

func (a *api) increment(v Version) gin.HandlerFunc {
	return answered(func(c *gin.Context) error {
		lock, err := a.lockOf(c, v)
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
			return maybe(err, "the view may have been counted: GET /pview reads the counter")
		}
		c.Set("value", view.Value)
		if wantsText(c) { // A4's answer, to the letter
			c.String(http.StatusOK, "%s increase pview end!", a.Instance)
			return nil
		}
		c.JSON(http.StatusOK, viewAnswer{
			Instance: a.Instance, Version: v.Name, Value: view.Value,
			WaitedMS: milliseconds(view.Waited), HeldMS: milliseconds(view.Held), Token: view.Token,
		})
		return nil
	})
}

// getView reads the counter from the master, or with ?from=replica from a replica, where it may be old.
func (a *api) getView(c *gin.Context) error {
	from, err := one(c, "from")
	read := a.Views.Get
	switch {
	case err != nil:
		return err
	case from == "" || from == "master":
	case from == "replica":
		read = a.Views.GetStale
	default:
		return badRequest("from is %.20q; allowed are master and replica", from)
	}
	value, err := read(c.Request.Context())
	return a.answerValue(c, value, err)
}

// setView writes the counter: A4's "set pview 0".
func (a *api) setView(c *gin.Context) error {
	value, err := valueOf(c.Request.Body, "value", maxValue)
	if err != nil {
		return err
	}
	if err := a.Views.Set(c.Request.Context(), value); err != nil {
		return maybe(err, "the counter may have been set: GET /pview reads it")
	}
	return a.answerValue(c, value, nil)
}

func (a *api) answerValue(c *gin.Context, value int64, err error) error {
	switch {
	case err != nil:
		return err
	case wantsText(c):
		c.String(http.StatusOK, fmt.Sprint(value))
	default:
		c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "value": value})
	}
	return nil
}

// valueOf parses {"NAME": N}, and accepts nothing else.
func valueOf(body io.Reader, name string, most int64) (int64, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return 0, unread(err)
	}
	number, _ := onlyField(text, name).(json.Number)
	value, notWhole := strconv.ParseInt(string(number), 10, 64)
	if notWhole != nil || value < 0 || value > most {
		return 0, badRequest(`the body is %.40q; send {"%s": 0}, a whole number from 0 to %d`, text, name, most)
	}
	return value, nil
}

// onlyField is the value in {"NAME": value}, a [json.Number] or a string; nil: the text is something else. Decode would take "Value"
// for "value", and the last of two values.
func onlyField(text []byte, name string) json.Token {
	decoder := json.NewDecoder(bytes.NewReader(text))
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

// wantsText reports whether the client prefers plain text to JSON, by the q values of its Accept header. Of equal values the first
// counts.
func wantsText(c *gin.Context) bool {
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
