package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/ratelimit"
)

// Limited is what an instance needs to call the supplier under a limit (A0).
type Limited struct {
	Algorithms []Algorithm
	Operations map[string]ratelimit.Limit // of the supplier, by name: declared as A0's annotation does
	Incoming   ratelimit.Limit            // of GET /rN/quotes, an incoming route, over all instances
	URL        string                     // of the supplier: http://host:port
	Supplier   Supplier                   // the stand-in that logs each call
}

// Algorithm is one way to count, opened.
type Algorithm struct {
	ratelimit.Algorithm
	Limiter  ratelimit.Limiter
	Outgoing http.RoundTripper // asks the limiter before it sends a request to the supplier
}

// Supplier logs the calls that reach it.
type Supplier interface {
	Call(ctx context.Context, name string) error
	Calls(ctx context.Context, name string) ([]time.Time, error)
	Forget(ctx context.Context, name string) error
}

// errSupplier says that the supplier gave no usable answer. The call may have reached it.
var errSupplier = errors.New("the supplier gave no usable answer")

// limits adds the routes of the limited calls.
func (a *api) limits(r gin.IRoutes) {
	for _, algorithm := range a.Limited.Algorithms {
		r.POST("/"+algorithm.Name+"/supplier/call", a.inVersion(algorithm.Name), answered(a.callSupplier(algorithm)))
		r.GET("/"+algorithm.Name+"/quotes", a.inVersion(algorithm.Name), limited(algorithm.Limiter, a.Limited.Incoming), a.quote)
	}
	route := SupplierPath(":algorithm", ":operation")
	r.POST(route, a.atSupplier(a.Limited.Supplier.Call))
	r.GET(route, answered(a.supplierLog))
	r.DELETE(route, a.admin, a.atSupplier(a.Limited.Supplier.Forget))
}

// SupplierPath is where the stand-in for the supplier takes the calls of an operation. Each algorithm has a log of its own.
func SupplierPath(algorithm, operation string) string {
	return "/supplier/" + algorithm + "/" + operation
}

// callSupplier makes an outgoing call. A refused one is answered by 429, with the time to come back.
func (a *api) callSupplier(algorithm Algorithm) func(*gin.Context) error {
	client := http.Client{Transport: algorithm.Outgoing}
	return func(c *gin.Context) error {
		operation, err := one(c, "operation")
		if _, given := c.GetQuery("operation"); err == nil && !given {
			operation = "rates"
		}
		if err = errors.Join(err, a.knownOperation(operation)); err != nil {
			return err
		}
		headers, err := send(c.Request.Context(), &client, a.Limited.URL+SupplierPath(algorithm.Name, operation))
		if err != nil {
			return err
		}
		for name, values := range headers {
			if strings.HasPrefix(name, "Ratelimit-") {
				c.Writer.Header()[name] = values
			}
		}
		c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "algorithm": algorithm.Name, "operation": operation})
		return nil
	}
}

// send makes a call, and returns the headers of its answer. A refusal comes without what http.Client puts around it: method and URL.
func send(ctx context.Context, client *http.Client, url string) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	switch {
	case errors.Is(err, ratelimit.ErrRefused), errors.Is(err, ratelimit.ErrUnavailable), errors.Is(err, ratelimit.ErrInput):
		return nil, errors.Unwrap(err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errSupplier, err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxBody)); err != nil {
		return nil, fmt.Errorf("%w: %w", errSupplier, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%w: status %d", errSupplier, response.StatusCode)
	}
	return response.Header, nil
}

func (a *api) knownOperation(name string) error {
	if _, known := a.Limited.Operations[name]; known {
		return nil
	}
	names := slices.Sorted(maps.Keys(a.Limited.Operations))
	return badRequest("the supplier has no operation %.20q; operation is one of %s", name, strings.Join(names, ", "))
}

// limited is a middleware for an incoming route: it admits a request, or answers 429 with the time to come back.
func limited(limiter ratelimit.Limiter, limit ratelimit.Limit) gin.HandlerFunc {
	return func(c *gin.Context) {
		state, err := limiter.Allow(c.Request.Context(), limit)
		if err != nil {
			fail(c, err)
			return
		}
		ratelimit.WriteHeaders(c.Writer.Header(), limit, state)
	}
}

// quote is an incoming route that costs something.
func (a *api) quote(c *gin.Context) {
	c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "quote": "80 for two nights"})
}

// logOf is the name of the supplier's log that a path names.
func (a *api) logOf(c *gin.Context) (name string, limit ratelimit.Limit, err error) {
	algorithm, operation := c.Param("algorithm"), c.Param("operation")
	if _, known := ratelimit.Find(algorithm); !known {
		err = badRequest("there is no algorithm %.20q; GET / lists those of this instance", algorithm)
	}
	return algorithm + ":" + operation, a.Limited.Operations[operation], errors.Join(err, a.knownOperation(operation))
}

// atSupplier does something with the log that a path names.
func (a *api) atSupplier(do func(ctx context.Context, name string) error) gin.HandlerFunc {
	return answered(func(c *gin.Context) error {
		name, _, err := a.logOf(c)
		if err == nil {
			err = do(c.Request.Context(), name)
		}
		if err == nil {
			c.Status(http.StatusNoContent)
		}
		return err
	})
}

// supplierReport is what the supplier has seen, judged.
type supplierReport struct {
	Calls    int   `json:"calls"`
	Limit    int   `json:"limit"`
	WindowMS int64 `json:"window_ms"`
	Most     int   `json:"most_in_one_window"` // which may begin at any time
	Over     int   `json:"over"`               // calls above the limit in that window; 0: the limit was kept
}

func (a *api) supplierLog(c *gin.Context) error {
	name, limit, err := a.logOf(c)
	if err != nil {
		return err
	}
	calls, err := a.Limited.Supplier.Calls(c.Request.Context(), name)
	if err != nil {
		return err
	}
	most, _ := ratelimit.Worst(calls, limit.Window)
	c.JSON(http.StatusOK, supplierReport{len(calls), limit.Count, limit.Window.Milliseconds(), most, max(0, most-limit.Count)})
	return nil
}
