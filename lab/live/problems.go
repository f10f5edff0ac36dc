package live

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"locklab/lab/burst"
	"locklab/lab/live/bench"
	"locklab/lab/live/class"
	"locklab/lab/watch"
)

// refusal is an error with its status of HTTP.
type refusal struct {
	error
	status int
}

func (r refusal) Unwrap() error { return r.error }

// nothing answers for an address that no page has.
func nothing(_ *Server, _ http.ResponseWriter, r *http.Request) error {
	return refuse(http.StatusNotFound, fmt.Errorf("there is no page %s", r.URL.Path))
}

// refuse gives an error a status; nil stays nil.
func refuse(status int, err error) error {
	if err == nil {
		return nil
	}
	return refusal{err, status}
}

// statusOf is the status of an error. Most say that something cannot run now.
func statusOf(err error) int {
	var r refusal
	switch {
	case errors.As(err, &r):
		return r.status
	case errors.Is(err, class.ErrNobody):
		return http.StatusForbidden
	case errors.Is(err, class.ErrOften):
		return http.StatusTooManyRequests
	case errors.Is(err, watch.ErrUnknown):
		return http.StatusNotFound
	case isAny(err, watch.ErrImpossible, bench.ErrNotStarted, bench.ErrLoad, bench.ErrNoLoad):
		return http.StatusConflict
	case isAny(err, bench.ErrVersion, burst.ErrClients, burst.ErrRate):
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

func isAny(err error, of ...error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}
