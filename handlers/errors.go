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

	"locklab/cache"
	"locklab/cache/variants"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/pview"
	"locklab/ratelimit"
	"locklab/shop"
	"locklab/versions"
)

// Errors of the requests themselves.
var (
	errBadRequest   = errors.New("bad request")
	errBodyTooLarge = fmt.Errorf("the body is longer than %d bytes", maxBody)
	errBodyTooSlow  = fmt.Errorf("the body did not arrive within %s", readBody)
	errQueryTooLong = fmt.Errorf("the query is longer than %d bytes", maxQuery)
	errNoToken      = errors.New("this resets data: send the instance's admin token as 'Authorization: Bearer TOKEN'")
	errNoRoute      = errors.New("there is nothing here")
	errNoMethod     = errors.New("method not allowed")
	errLocked       = errors.New("locked, and nothing was written")
)

// clientGone is the status that nginx logs for a client that disconnected before its answer. No client receives it.
const clientGone = 499

// retryAfter is in seconds: the queue may be shorter by then.
const retryAfter = "1"

// statuses is the only table from errors to HTTP. The first row that matches decides.
var statuses = []struct {
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
	for _, row := range statuses {
		if errors.Is(err, row.err) {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

// resources check fencing tokens; each has its error for the write of a stale holder.
var resources = []struct {
	name  string
	stale error
}{{"order", order.ErrStale}, {"pview", pview.ErrStale}}

// staleAt names the resource that refused the write of a stale holder; empty: none did.
func staleAt(err error) string {
	for _, r := range resources {
		if errors.Is(err, r.stale) {
			return r.name
		}
	}
	return ""
}

// fail answers with the error's status and its sentence. The refused write of a stale holder has a field of its own, because other
// conflicts have the same status.
func fail(c *gin.Context, err error) {
	ctx, status := c.Request.Context(), statusOf(err)
	switch broke := status >= http.StatusInternalServerError; {
	case broke && errors.Is(context.Cause(ctx), context.Canceled): // net/http's cause for a client that disconnected
		status = clientGone
	case broke && ctx.Err() != nil: // the instance stops, and its client is still connected
		status = http.StatusServiceUnavailable
	case waitedTooLong(err), errors.Is(err, errLocked), errors.Is(err, shop.ErrInProgress):
		c.Header("Retry-After", retryAfter)
	}
	if refusal := new(ratelimit.Refusal); errors.As(err, &refusal) {
		refusal.WriteHeaders(c.Writer.Header())
	}
	answer := gin.H{"error": sentence(err)}
	if status == http.StatusTooManyRequests {
		answer["instance"] = c.GetString("instance")
	}
	if resource := staleAt(err); resource != "" {
		c.Set("stale", resource)
		answer["stale"], answer["instance"] = true, c.GetString("instance")
	}
	if status == http.StatusLocked {
		answer["locked"], answer["instance"] = lockedBy(err), c.GetString("instance")
	}
	if status >= http.StatusInternalServerError && ctx.Err() == nil && !waitedTooLong(err) {
		c.Set("outage", err)
	}
	c.AbortWithStatusJSON(status, answer)
}

// maybe adds advice to an error after which the work may have been done: the lease was lost, or a server gave no answer. Nothing was
// written where the lock was not granted, or a stale holder was refused.
func maybe(err error, advice string) error {
	lost, away := errors.Is(err, lockstrategy.ErrLost), errors.Is(err, lockstrategy.ErrUnavailable)
	refused := errors.Is(err, lockstrategy.ErrNotAcquired) || errors.Is(err, pview.ErrNotWritten) || away && !lost
	if refused || statusOf(err) < http.StatusInternalServerError {
		return err
	}
	return fmt.Errorf("%w; %s", err, advice)
}

// waitedTooLong reports whether the wait for the lock ran out, and not a server's time to answer.
func waitedTooLong(err error) bool {
	return errors.Is(err, lockstrategy.ErrNotAcquired) && errors.Is(err, context.DeadlineExceeded) &&
		!errors.Is(err, lockstrategy.ErrUnavailable)
}

// sentence returns err in one line: joined errors have one line each.
func sentence(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func badRequest(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBadRequest, fmt.Sprintf(format, args...))
}

func unread(err error) error {
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		return errBodyTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errBodyTooSlow
	}
	return badRequest("the body could not be read: %v", err)
}

// noRoute answers for a version that this instance does not have, and for every other unknown path.
func (a *api) noRoute(c *gin.Context) {
	first, _, _ := strings.Cut(strings.TrimPrefix(c.Request.URL.Path, "/"), "/")
	names := a.names()
	if isVersion(first) && !slices.Contains(names, first) {
		hint := ""
		if v, known := versions.Find(first); known && v.Needs != "" {
			hint = fmt.Sprintf("; %s is there when %s names its servers", v.Name, v.Needs.Flag())
		}
		c.AbortWithStatusJSON(statusOf(errNoRoute), gin.H{
			"error":    fmt.Sprintf("this instance has no version %.20q; it has %s%s", first, strings.Join(names, ", "), hint),
			"versions": names,
		})
		return
	}
	fail(c, fmt.Errorf("%w: GET / lists what there is", errNoRoute))
}

// names are those of the versions that this instance has.
func (a *api) names() []string {
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
	fail(c, fmt.Errorf("%w: %.20s is not for this path, which takes %s", errNoMethod, c.Request.Method, c.Writer.Header().Get("Allow")))
}
