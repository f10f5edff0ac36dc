// Package burst sends many simultaneous requests to instances of the app, and records the answer to each. The record shows
// page views that were lost (A4), and orders with two winners (A2).
//
// What is NOT guaranteed: a burst that lost nothing shows that nothing was lost this time, no more.
package burst

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/lab/history"
)

// dialing bounds how many connections are opened simultaneously: a listener's queue may be short.
const dialing = 64

// answer is what one request was answered.
type answer struct {
	Status    int
	Body      []byte
	Err       error         // no answer; the request may have had its effect
	Sent, Got time.Duration // since the burst began
}

// into reads the answer's JSON, if it has one of the statuses.
func (a answer) into(result any, statuses ...int) error {
	if a.Err != nil {
		return fmt.Errorf("no answer: %w", a.Err)
	}
	if !slices.Contains(statuses, a.Status) {
		return fmt.Errorf("status %d: %.200s", a.Status, a.says())
	}
	return json.Unmarshal(a.Body, result)
}

// says is the error that an instance has answered, or the body of any other answer.
func (a answer) says() string {
	var refusal struct{ Error string }
	if json.Unmarshal(a.Body, &refusal) == nil && refusal.Error != "" {
		return refusal.Error
	}
	return string(a.Body)
}

// stale reports whether the answer says that the write of a stale holder was refused, and by which instance. The status
// alone does not: a driver who lost has the same one.
func (a answer) stale() (instance string, stale bool) {
	var refusal struct {
		Instance string
		Stale    bool
	}
	err := a.into(&refusal, http.StatusConflict)
	return refusal.Instance, err == nil && refusal.Stale && refusal.Instance != ""
}

// locked says which instance did not grant the lock in time, and what it knows of the lock's holder. Empty: it does not say.
func (a answer) locked() (instance, by string) {
	var refusal struct {
		Instance string
		Locked   struct {
			By      string
			LeaseMS float64 `json:"lease_ms"`
		}
	}
	_ = a.into(&refusal, http.StatusLocked)
	if by = refusal.Locked.By; by != "" && refusal.Locked.LeaseMS > 0 {
		by += fmt.Sprintf(", with %.0f ms of its lease left", refusal.Locked.LeaseMS)
	}
	return refusal.Instance, by
}

// Send is a way to send requests: [Simultaneous], [Sequential] or [Shared]. It returns their answers in the same order. The error
// says that the requests were not sent, or that ctx ended.
type Send func(ctx context.Context, base string, requests []*http.Request) (answers []answer, began time.Time, err error)

// Simultaneous sends all requests at the same moment, each on a connection of its own that is already open. It sends
// nothing twice.
func Simultaneous(ctx context.Context, base string, requests []*http.Request) ([]answer, time.Time, error) {
	return simultaneous(ctx, base, requests, func(answer) {})
}

// simultaneous calls got with each answer as it arrives, from as many goroutines as there are requests.
func simultaneous(ctx context.Context, base string, requests []*http.Request, got func(answer)) ([]answer, time.Time, error) {
	connections, err := dialAll(ctx, base, len(requests))
	if err != nil {
		return nil, time.Time{}, err
	}
	defer closeAll(connections)
	defer context.AfterFunc(ctx, func() { closeAll(connections) })() // it wakes the requests that still wait for an answer

	answers := make([]answer, len(requests))
	start := make(chan struct{})
	var began time.Time
	var ready, done sync.WaitGroup
	for i, request := range requests {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			answers[i] = exchange(connections[i], request, began)
			got(answers[i])
		})
	}
	ready.Wait()
	began = time.Now()
	close(start)
	done.Wait()
	return answers, began, ctx.Err()
}

// Sequential sends each request when the one before it has been answered, all on one connection.
func Sequential(ctx context.Context, base string, requests []*http.Request) ([]answer, time.Time, error) {
	return sequential(ctx, base, requests, func(answer) (more bool) { return true })
}

// sequential is Sequential until got returns false. It is called with each answer.
func sequential(
	ctx context.Context, base string, requests []*http.Request, got func(answer) (more bool),
) ([]answer, time.Time, error) {
	connections, err := dialAll(ctx, base, 1)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer closeAll(connections)
	defer context.AfterFunc(ctx, func() { closeAll(connections) })()
	answers, began := make([]answer, 0, len(requests)), time.Now()
	for _, request := range requests {
		answers = append(answers, exchange(connections[0], request, began))
		if !got(answers[len(answers)-1]) {
			break
		}
	}
	return answers, began, ctx.Err()
}

// Shared sends requests from so many clients, in order. Each client has one connection, and sends the next request that is due when its
// last one was answered. rate is in requests per second, at random times as those of people; 0: a request is due when a client is free.
func Shared(clients, rate int) Send {
	return func(ctx context.Context, base string, requests []*http.Request) ([]answer, time.Time, error) {
		connections, err := dialAll(ctx, base, clients)
		if err != nil {
			return nil, time.Time{}, err
		}
		defer closeAll(connections)
		defer context.AfterFunc(ctx, func() { closeAll(connections) })()
		answers, due, began := make([]answer, len(requests)), &arrivals{rate: rate}, time.Now()
		due.begin()
		var next atomic.Int64
		var done sync.WaitGroup
		for _, connection := range connections {
			done.Go(func() {
				for {
					_, more := due.next(ctx)
					i := int(next.Add(1)) - 1
					if !more || i >= len(requests) {
						return
					}
					answers[i] = exchange(connection, requests[i], began)
				}
			})
		}
		done.Wait()
		return answers, began, ctx.Err()
	}
}

// took is the time from the first request to the last answer.
func took(answers []answer) (longest time.Duration) {
	for _, a := range answers {
		longest = max(longest, a.Got)
	}
	return longest
}

func dialAll(ctx context.Context, base string, n int) ([]net.Conn, error) {
	target, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("burst: %w", err)
	}
	connections := make([]net.Conn, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dialing)
	for i := range connections {
		group.Go(func() (err error) {
			connections[i], err = new(net.Dialer).DialContext(ctx, "tcp", target.Host)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		closeAll(connections)
		if errors.Is(err, syscall.EMFILE) {
			err = fmt.Errorf("%w; send fewer requests, or raise the limit (ulimit -n)", err)
		}
		return nil, fmt.Errorf("burst: open %d connections: %w", n, err)
	}
	return connections, nil
}

func exchange(connection net.Conn, request *http.Request, began time.Time) (a answer) {
	a.Sent = time.Since(began)
	defer func() { a.Got = time.Since(began) }()
	if a.Err = request.Write(connection); a.Err != nil {
		return a
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		a.Err = err
		return a
	}
	defer response.Body.Close()
	a.Status = response.StatusCode
	a.Body, a.Err = io.ReadAll(response.Body)
	a.Body = bytes.TrimSpace(a.Body) // it becomes a part of sentences
	return a
}

func closeAll(connections []net.Conn) {
	for _, c := range connections {
		if c != nil {
			c.Close()
		}
	}
}

// eventsOf makes two events of each answer, the request and its result, and sorts all of them by time.
func eventsOf(answers []answer, record func(i int, a answer) history.Event) (all []history.Event) {
	for i, a := range answers {
		result := record(i, a)
		result.At = a.Got
		request := history.Event{Kind: history.Request, Timeline: result.Timeline, Key: result.Key, Owner: result.Owner, At: a.Sent}
		all = append(all, request, result)
	}
	slices.SortStableFunc(all, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// failure is the kind of a request without a usable answer. Without any answer the request may have had its effect.
func (a answer) failure() history.Kind {
	if a.Err != nil {
		return history.Note
	}
	return history.Refuse
}
