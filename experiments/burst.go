package experiments

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// dialing bounds how many connections are being opened at once: a listener's queue may be short.
const dialing = 64

// answer is what one request of a burst got.
type answer struct {
	Status int
	Body   []byte
	Err    error // no answer; the request may have had its effect
}

// into reads the answer's JSON, if it has one of the statuses.
func (a answer) into(result any, statuses ...int) error {
	if a.Err != nil {
		return fmt.Errorf("no answer: %w", a.Err)
	}
	for _, status := range statuses {
		if a.Status == status {
			return json.Unmarshal(a.Body, result)
		}
	}
	return fmt.Errorf("status %d: %.200s", a.Status, a.Body)
}

// stale reports whether the answer says that a stale holder's write was refused, and by which
// instance. Other conflicts have the same status: a loser's, for one.
func (a answer) stale() (instance string, stale bool) {
	var refusal struct {
		Instance string
		Stale    bool
	}
	err := a.into(&refusal, http.StatusConflict)
	return refusal.Instance, err == nil && refusal.Stale && refusal.Instance != ""
}

// burst sends requests at the same moment, each on a connection of its own that is already open,
// and returns their answers in the same order, and the time from the first request to the last
// answer. The error says that the burst could not begin. Nothing is sent twice.
func burst(ctx context.Context, base string, requests []*http.Request) ([]answer, time.Duration, error) {
	connections, err := dialAll(ctx, base, len(requests))
	if err != nil {
		return nil, 0, err
	}
	defer closeAll(connections)
	// What is still waiting when ctx ends is woken by closing its connection.
	defer context.AfterFunc(ctx, func() { closeAll(connections) })()

	answers := make([]answer, len(requests))
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	for i, request := range requests {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			answers[i] = exchange(connections[i], request)
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	done.Wait()
	return answers, time.Since(began), ctx.Err()
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
		return nil, fmt.Errorf("burst: open %d connections: %w", n, err)
	}
	return connections, nil
}

func exchange(connection net.Conn, request *http.Request) answer {
	if err := request.Write(connection); err != nil {
		return answer{Err: err}
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		return answer{Err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{Status: response.StatusCode, Body: body, Err: err}
}

func closeAll(connections []net.Conn) {
	for _, c := range connections {
		if c != nil {
			c.Close()
		}
	}
}
