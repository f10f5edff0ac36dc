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

// errorStatuses maps errors to HTTP statuses. The first row that matches wins.
var errorStatuses = []struct {
	err    error
	status int
}{
	{errBadRequest, http.StatusBadRequest},
	{errQueryTooLong, http.StatusBadRequest},
	{errBodyTooLarge, http.StatusRequestEntityTooLarge},
	{errBodyTooSlow, http.StatusRequestTimeout},
	{errNoToken, http.StatusUnauthorized},
	{errNoRoute, http.StatusNotFound},
	{errNoMethod, http.StatusMethodNotAllowed},
	{order.ErrNotFound, http.StatusNotFound},
	{shop.ErrInvalid, http.StatusBadRequest},
	{shop.ErrNotFound, http.StatusNotFound},
	{shop.ErrSoldOut, http.StatusConflict},
	{shop.ErrDuplicate, http.StatusConflict},
	{shop.ErrState, http.StatusConflict},
	{shop.ErrInProgress, http.StatusConflict},
	{shop.ErrKeyReused, http.StatusUnprocessableEntity},
	{cache.ErrNotFound, http.StatusNotFound},
	{variants.ErrAbsent, http.StatusNotFound},
	{cache.ErrInvalid, http.StatusBadRequest},
	{order.ErrStale, http.StatusConflict}, // before ErrLost, which does not say that nothing was written
	{pview.ErrStale, http.StatusConflict},
	{pview.ErrNotNumber, http.StatusConflict},
	{pview.ErrOverflow, http.StatusConflict},
	{ratelimit.ErrInput, http.StatusBadRequest},
	{ratelimit.ErrRefused, http.StatusTooManyRequests},
	{ratelimit.ErrUnavailable, http.StatusServiceUnavailable},
	{errSupplier, http.StatusBadGateway},
	{errLocked, http.StatusLocked},
	{lockstrategy.ErrLost, http.StatusServiceUnavailable},
	{lockstrategy.ErrUnavailable, http.StatusServiceUnavailable},
	{pview.ErrUnavailable, http.StatusServiceUnavailable},
	{order.ErrUnavailable, http.StatusServiceUnavailable},
	{shop.ErrUnavailable, http.StatusServiceUnavailable},
	{cache.ErrUnavailable, http.StatusServiceUnavailable},
	{lockstrategy.ErrNotAcquired, http.StatusServiceUnavailable},
}

func statusOf(err error) int {
	for _, row := range errorStatuses {
		if errors.Is(err, row.err) {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

// fencedResources are the resources that check fencing tokens, with the error of each for a stale holder.
var fencedResources = []struct {
	name  string
	stale error
}{{"order", order.ErrStale}, {"pview", pview.ErrStale}}

// staleResource returns the name of the resource that refused a stale holder, or "" if none did.
func staleResource(err error) string {
	for _, r := range fencedResources {
		if errors.Is(err, r.stale) {
			return r.name
		}
	}
	return ""
}

// fail responds with the error's status and message. A stale holder (409), a lock that is held (423) and an exceeded rate limit (429) add
// fields of their own.
func fail(c *gin.Context, err error) {
	ctx, status := c.Request.Context(), statusOf(err)
	switch serverError := status >= http.StatusInternalServerError; {
	case serverError && errors.Is(context.Cause(ctx), context.Canceled): // net/http's cause for a client that disconnected
		status = statusClientGone
	case serverError && ctx.Err() != nil: // the instance is shutting down, and its client is still connected
		status = http.StatusServiceUnavailable
	case waitTimedOut(err), errors.Is(err, errLocked), errors.Is(err, shop.ErrInProgress):
		c.Header("Retry-After", retryAfter)
	}
	if refusal := new(ratelimit.Refusal); errors.As(err, &refusal) {
		refusal.WriteHeaders(c.Writer.Header())
	}
	response := gin.H{"error": oneLine(err)}
	if status == http.StatusTooManyRequests {
		response["instance"] = c.GetString("instance")
	}
	if resource := staleResource(err); resource != "" {
		c.Set("stale", resource)
		response["stale"], response["instance"] = true, c.GetString("instance")
	}
	if status == http.StatusLocked {
		response["locked"], response["instance"] = holderOf(err), c.GetString("instance")
	}
	if status >= http.StatusInternalServerError && ctx.Err() == nil && !waitTimedOut(err) {
		c.Set("failure", err)
	}
	c.AbortWithStatusJSON(status, response)
}

// addAdvice adds advice to an error that leaves open whether the work was done: the lease was lost, or a server did not answer. Other
// errors stay as they are: if the lock was not granted, a stale holder was refused or nothing was sent, nothing was written.
func addAdvice(err error, advice string) error {
	leaseLost, lockUnavailable := errors.Is(err, lockstrategy.ErrLost), errors.Is(err, lockstrategy.ErrUnavailable)
	notSent := errors.Is(err, pview.ErrNotWritten) || errors.Is(err, order.ErrNotWritten) || errors.Is(err, shop.ErrNotWritten)
	nothingWritten := notSent || errors.Is(err, lockstrategy.ErrNotAcquired) || lockUnavailable && !leaseLost
	if nothingWritten || statusOf(err) < http.StatusInternalServerError {
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
	return fmt.Errorf("%w: %s", errBadRequest, fmt.Sprintf(format, args...))
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
		c.AbortWithStatusJSON(statusOf(errNoRoute), gin.H{
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
