package handlers

import (
	"cmp"
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

	"locklab/systems/ratelimit"
)

// RateLimits configures the rate-limited calls to the supplier (A0).
type RateLimits struct {
	Algorithms []Algorithm
	Operations map[string]ratelimit.Limit // the supplier's limits by operation, as A0's annotation declares them
	Incoming   ratelimit.Limit            // of GET /rN/quotes, an incoming route, shared by all instances
	URL        string                     // of the supplier: http://host:port
	Supplier   Supplier                   // the stand-in that logs each call
}

// Algorithm is a rate-limiting algorithm with its open limiter.
type Algorithm struct {
	ratelimit.Algorithm
	Limiter  ratelimit.Limiter
	Outgoing http.RoundTripper // asks the limiter before it sends a request to the supplier
}

// Supplier logs the calls that reach it. Each name has a log of its own.
type Supplier interface {
	Call(ctx context.Context, name string) error
	Calls(ctx context.Context, name string) ([]time.Time, error)
	Forget(ctx context.Context, name string) error
}

// errSupplier says that the supplier gave no usable answer. The call may have reached it.
var errSupplier = errors.New("the supplier gave no usable answer")

func (a *api) addSupplierRoutes(r gin.IRoutes) {
	for _, algorithm := range a.RateLimits.Algorithms {
		tag := a.tagVersion(algorithm.Name)
		r.POST("/"+algorithm.Name+"/supplier/call", tag, handle("", a.callSupplier(algorithm)))
		r.GET("/"+algorithm.Name+"/quotes", tag, rateLimit(algorithm.Limiter, a.RateLimits.Incoming), a.quote)
	}
	path := SupplierPath(":algorithm", ":operation")
	r.POST(path, handle("", a.changeSupplierLog(a.RateLimits.Supplier.Call)))
	r.GET(path, handle("", a.getSupplierReport))
	r.DELETE(path, a.requireAdmin, handle("", a.changeSupplierLog(a.RateLimits.Supplier.Forget)))
}

// SupplierPath returns the path on which the supplier's stand-in accepts calls of an operation. Each algorithm has a log of its own.
func SupplierPath(algorithm, operation string) string {
	return "/supplier/" + algorithm + "/" + operation
}

type callRequest struct {
	Operation *string `form:"operation"` // rates if absent
}

// callSupplier makes an outgoing call. If the limiter refuses it, the response is a 429 with the time after which to retry.
func (a *api) callSupplier(algorithm Algorithm) func(*gin.Context, callRequest) error {
	client := http.Client{Transport: algorithm.Outgoing}
	return func(c *gin.Context, request callRequest) error {
		rates := "rates"
		operation := *cmp.Or(request.Operation, &rates)
		if err := a.checkOperation(operation); err != nil {
			return err
		}
		headers, err := post(c.Request.Context(), &client, a.RateLimits.URL+SupplierPath(algorithm.Name, operation))
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

// post sends a POST request and returns the headers of the response. A refusal by the limiter comes without the method and URL that
// http.Client adds to errors.
func post(ctx context.Context, client *http.Client, url string) (http.Header, error) {
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

func (a *api) checkOperation(name string) error {
	if _, known := a.RateLimits.Operations[name]; known {
		return nil
	}
	names := slices.Sorted(maps.Keys(a.RateLimits.Operations))
	return badRequest("the supplier has no operation %.20q; choose one of %s", name, strings.Join(names, ", "))
}

// rateLimit is the middleware of an incoming route. It admits a request, or responds with a 429 and the time after which to retry.
func rateLimit(limiter ratelimit.Limiter, limit ratelimit.Limit) gin.HandlerFunc {
	return func(c *gin.Context) {
		state, err := limiter.Allow(c.Request.Context(), limit)
		if err != nil {
			fail(c, err)
			return
		}
		ratelimit.WriteHeaders(c.Writer.Header(), limit, state)
	}
}

// quote stands for an incoming route that is expensive to serve.
func (a *api) quote(c *gin.Context) {
	c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "quote": "80 for two nights"})
}

// supplierLog is the path of a log: see [SupplierPath].
type supplierLog struct {
	Algorithm string `form:"algorithm"`
	Operation string `form:"operation"`
}

func (l supplierLog) name() string { return l.Algorithm + ":" + l.Operation }

func (a *api) checkSupplierLog(log supplierLog) error {
	if _, known := ratelimit.Find(log.Algorithm); !known {
		return badRequest("there is no algorithm %.20q; GET / lists those of this instance", log.Algorithm)
	}
	return a.checkOperation(log.Operation)
}

// changeSupplierLog adapts a method of [Supplier] that returns no data.
func (a *api) changeSupplierLog(method func(ctx context.Context, name string) error) func(*gin.Context, supplierLog) error {
	return func(c *gin.Context, log supplierLog) error {
		err := a.checkSupplierLog(log)
		if err == nil {
			err = method(c.Request.Context(), log.name())
		}
		if err == nil {
			c.Status(http.StatusNoContent)
		}
		return err
	}
}

// supplierReport compares the calls that the supplier saw with its limit.
type supplierReport struct {
	Calls    int   `json:"calls"`
	Limit    int   `json:"limit"`
	WindowMS int64 `json:"window_ms"`
	Most     int   `json:"most_in_one_window"` // a window may start at any time
	Over     int   `json:"over"`               // calls above the limit in that window; 0: the limit was kept
}

func (a *api) getSupplierReport(c *gin.Context, log supplierLog) error {
	if err := a.checkSupplierLog(log); err != nil {
		return err
	}
	calls, err := a.RateLimits.Supplier.Calls(c.Request.Context(), log.name())
	if err != nil {
		return err
	}
	limit := a.RateLimits.Operations[log.Operation]
	most, _ := ratelimit.Worst(calls, limit.Window)
	c.JSON(http.StatusOK, supplierReport{len(calls), limit.Count, limit.Window.Milliseconds(), most, max(0, most-limit.Count)})
	return nil
}
