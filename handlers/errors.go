package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"locklab/lockstrategy"
	"locklab/order"
	"locklab/pview"
	"locklab/systems/cache"
	"locklab/systems/cache/variants"
	"locklab/systems/ratelimit"
	"locklab/systems/shop"
	"locklab/versions"
)

// Errors in the request itself.
var (
	errBadRequest   = errors.New("bad request")
	errBodyTooLarge = fmt.Errorf("the body is longer than %d bytes", maxBody)
	errBodyTooSlow  = fmt.Errorf("the body did not arrive within %s", bodyTimeout)
	errQueryTooLong = fmt.Errorf("the query is longer than %d bytes", maxQuery)
	errNoToken      = errors.New("this request resets data: send the instance's admin token as 'Authorization: Bearer TOKEN'")
	errNoRoute      = errors.New("there is nothing here")
	errNoMethod     = errors.New("method not allowed")
	errLocked       = errors.New("locked, and nothing was written")
)

// statusClientGone is the status that nginx logs for a client that disconnected before it got a response. It appears in metrics only.
const statusClientGone = 499

// retryAfter is the Retry-After header, in seconds.
const retryAfter = "1"

// errorTable maps errors to HTTP statuses. The first row that matches wins.
var errorTable = []errorRow{
	{err: errBadRequest, status: http.StatusBadRequest},
	{err: errQueryTooLong, status: http.StatusBadRequest},
	{err: errBodyTooLarge, status: http.StatusRequestEntityTooLarge},
	{err: errBodyTooSlow, status: http.StatusRequestTimeout},
	{err: errNoToken, status: http.StatusUnauthorized},
	{err: errNoRoute, status: http.StatusNotFound},
	{err: errNoMethod, status: http.StatusMethodNotAllowed},
	{err: order.ErrNotFound, status: http.StatusNotFound},
	{err: shop.ErrInvalid, status: http.StatusBadRequest},
	{err: shop.ErrNotFound, status: http.StatusNotFound},
	{err: shop.ErrSoldOut, status: http.StatusConflict},
	{err: shop.ErrDuplicate, status: http.StatusConflict},
	{err: shop.ErrState, status: http.StatusConflict},
	{err: shop.ErrInProgress, status: http.StatusConflict},
	{err: shop.ErrKeyReused, status: http.StatusUnprocessableEntity},
	{err: cache.ErrNotFound, status: http.StatusNotFound},
	{err: variants.ErrAbsent, status: http.StatusNotFound},
	{err: cache.ErrInvalid, status: http.StatusBadRequest},
	{err: order.ErrStale, status: http.StatusConflict, stale: "order"},
	{err: pview.ErrStale, status: http.StatusConflict, stale: "pview"},
	{err: pview.ErrNotNumber, status: http.StatusConflict},
	{err: pview.ErrOverflow, status: http.StatusConflict},
	{err: ratelimit.ErrInput, status: http.StatusBadRequest},
	{err: ratelimit.ErrRefused, status: http.StatusTooManyRequests},
	{err: ratelimit.ErrUnavailable, status: http.StatusServiceUnavailable},
	{err: errSupplier, status: http.StatusBadGateway},
	{err: errLocked, status: http.StatusLocked},
	{err: pview.ErrNotWritten, status: http.StatusServiceUnavailable, unwritten: true},
	{err: order.ErrNotWritten, status: http.StatusServiceUnavailable, unwritten: true},
	{err: shop.ErrNotWritten, status: http.StatusServiceUnavailable, unwritten: true},
	{err: cache.ErrNotWritten, status: http.StatusServiceUnavailable, unwritten: true},
	{err: lockstrategy.ErrNotAcquired, status: http.StatusServiceUnavailable, unwritten: true},
	{err: lockstrategy.ErrLost, status: http.StatusServiceUnavailable},
	{err: lockstrategy.ErrUnavailable, status: http.StatusServiceUnavailable, unwritten: true},
	{err: pview.ErrUnavailable, status: http.StatusServiceUnavailable},
	{err: order.ErrUnavailable, status: http.StatusServiceUnavailable},
	{err: shop.ErrUnavailable, status: http.StatusServiceUnavailable},
	{err: cache.ErrUnavailable, status: http.StatusServiceUnavailable},
}

type errorRow struct {
	err       error
	status    int
	unwritten bool   // nothing was written although the status is 5xx
	stale     string // the resource that refused a stale holder, for metrics
}

func rowOf(err error) errorRow {
	for _, row := range errorTable {
		if errors.Is(err, row.err) {
			return row
		}
	}
	return errorRow{status: http.StatusInternalServerError}
}

// fail responds with the error's status and message. A stale holder (409), a lock that is held (423) and an exceeded rate limit (429) add
// fields of their own.
func fail(c *gin.Context, err error) {
	ctx, row := c.Request.Context(), rowOf(err)
	status := row.status
	switch serverError := status >= http.StatusInternalServerError; {
	case serverError && errors.Is(context.Cause(ctx), context.Canceled): // net/http's cause for a client that disconnected
		status = statusClientGone
	case serverError && ctx.Err() != nil: // the instance is shutting down, and its client is still connected
		status = http.StatusServiceUnavailable
	case waitTimedOut(err), errors.Is(err, errLocked), errors.Is(err, shop.ErrInProgress):
		c.Header("Retry-After", retryAfter)
	case serverError:
		c.Set("failure", err)
	}
	response := gin.H{"error": oneLine(err)}
	refusal := new(ratelimit.Refusal)
	switch {
	case errors.As(err, &refusal):
		refusal.WriteHeaders(c.Writer.Header())
		response["instance"] = c.GetString("instance")
	case row.stale != "":
		c.Set("stale", row.stale)
		response["stale"], response["instance"] = true, c.GetString("instance")
	case status == http.StatusLocked:
		response["locked"], response["instance"] = holderOf(err), c.GetString("instance")
	}
	c.AbortWithStatusJSON(status, response)
}

// addAdvice adds advice to an error that leaves open whether the work was done.
func addAdvice(err error, advice string) error {
	if row := rowOf(err); advice == "" || row.unwritten || row.status < http.StatusInternalServerError {
		return err
	}
	return fmt.Errorf("%w; %s", err, advice)
}

// waitTimedOut reports whether the wait for the lock ran out. A server that was too slow to answer does not count.
func waitTimedOut(err error) bool {
	return errors.Is(err, lockstrategy.ErrNotAcquired) && errors.Is(err, context.DeadlineExceeded) &&
		!errors.Is(err, lockstrategy.ErrUnavailable)
}

// oneLine returns the error's message in one line: errors.Join puts each error on a line of its own.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func badRequest(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errBadRequest, fmt.Errorf(format, args...))
}

// bodyError converts the error of reading a request's body.
func bodyError(err error) error {
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		return errBodyTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errBodyTooSlow
	}
	return badRequest("the body could not be read: %v", err)
}

// noRoute responds to a path that does not exist. For a version that this instance does not serve, it lists those that it does.
func (a *api) noRoute(c *gin.Context) {
	first, _, _ := strings.Cut(strings.TrimPrefix(c.Request.URL.Path, "/"), "/")
	names := a.versionNames()
	if isVersion(first) && !slices.Contains(names, first) {
		hint := ""
		if v, known := versions.Find(first); known && v.Server() != "" {
			hint = fmt.Sprintf("; to serve %s, start the instance with %s", v.Name, v.Flag())
		}
		c.AbortWithStatusJSON(http.StatusNotFound, gin.H{
			"error":    fmt.Sprintf("this instance has no version %.20q; it has %s%s", first, strings.Join(names, ", "), hint),
			"versions": names,
		})
		return
	}
	fail(c, fmt.Errorf("%w: GET / lists the routes", errNoRoute))
}

// versionNames returns the names of the versions that this instance serves.
func (a *api) versionNames() []string {
	names := make([]string, len(a.Versions))
	for i, v := range a.Versions {
		names[i] = v.Name
	}
	return names
}

func isVersion(segment string) bool {
	return len(segment) > 1 && segment[0] == 'v' && strings.Trim(segment[1:], "0123456789") == ""
}

func (a *api) noMethod(c *gin.Context) {
	fail(c, fmt.Errorf("%w: this path accepts %s, not %.20s", errNoMethod, c.Writer.Header().Get("Allow"), c.Request.Method))
}
