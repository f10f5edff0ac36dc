package ratelimit

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Transport asks a limiter before it sends a request. A refused request is not sent: the error of http.Client wraps the [*Refusal].
// A request of an operation that is not declared is sent, and not counted.
type Transport struct {
	Base   http.RoundTripper // sends what is admitted; http.DefaultTransport at first
	Answer bool              // a refused request gets a response with the status 429 and Retry-After, and no error

	limiter    Limiter
	operations *http.ServeMux
	limits     map[string]Limit
}

// NewTransport declares limits by operation. An operation is a pattern of http.ServeMux: "POST /rates" or "POST supplier.example/rates".
// Requests are counted by the key of their limit, so that several operations can share one.
func NewTransport(limiter Limiter, limits map[string]Limit) (t *Transport, err error) {
	t = &Transport{Base: http.DefaultTransport, limiter: limiter, operations: http.NewServeMux(), limits: limits}
	for operation, limit := range limits {
		if err := errors.Join(limit.Validate(), t.declare(operation)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// declare adds a pattern. ServeMux panics for one that it does not understand.
func (t *Transport) declare(operation string) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: the operation %.80q is no pattern such as \"POST /rates\": %v", ErrInput, operation, cause)
		}
	}()
	t.operations.Handle(operation, http.NotFoundHandler())
	return nil
}

// RoundTrip implements http.RoundTripper. The response has the headers of the limit, unless the supplier has sent its own.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation := t.operations.Handler(r)
	limit, declared := t.limits[operation]
	if !declared {
		return t.Base.RoundTrip(r)
	}
	state, err := t.limiter.Allow(r.Context(), limit)
	if err != nil {
		if r.Body != nil {
			r.Body.Close() // it was not read
		}
		if refusal := new(Refusal); t.Answer && errors.As(err, &refusal) {
			return refusal.response(r), nil
		}
		return nil, err
	}
	response, err := t.Base.RoundTrip(r)
	if err == nil && response.Header.Get("RateLimit-Limit") == "" {
		WriteHeaders(response.Header, limit, state)
	}
	return response, err
}

// WriteHeaders writes the headers RateLimit-Limit, -Policy, -Remaining and -Reset of a call that was admitted. Seconds are rounded up.
// A call that was not checked has no number of remaining calls.
func WriteHeaders(h http.Header, limit Limit, state State) {
	h.Set("RateLimit-Limit", strconv.Itoa(limit.Count))
	h.Set("RateLimit-Policy", fmt.Sprintf("%d;w=%d", limit.Count, seconds(limit.Window)))
	if !state.Unchecked {
		h.Set("RateLimit-Remaining", strconv.Itoa(state.Remaining))
		h.Set("RateLimit-Reset", strconv.Itoa(seconds(state.Reset)))
	}
}

// WriteHeaders writes the headers of a call that was refused: the same, and Retry-After. Seconds are rounded up.
func (r *Refusal) WriteHeaders(h http.Header) {
	WriteHeaders(h, r.Limit, State{Reset: r.After})
	h.Set("Retry-After", strconv.Itoa(seconds(r.After)))
}

// response is the answer that a supplier would give.
func (r *Refusal) response(request *http.Request) *http.Response {
	text := r.Error() + "\n"
	response := &http.Response{
		Status: "429 Too Many Requests", StatusCode: http.StatusTooManyRequests, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Request: request,
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}
	r.WriteHeaders(response.Header)
	return response
}

// seconds rounds up: a caller that comes back earlier is refused again.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
