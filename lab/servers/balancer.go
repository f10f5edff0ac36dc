package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Balancer is a reverse proxy that gives each request to the next instance. The round robin is strict: two instances get exactly
// half of an even number of requests each. It never sends a request again, because the request would count twice. For an
// instance that does not answer it replies 502.
type Balancer struct {
	URL     string
	server  *http.Server
	proxies []*httputil.ReverseProxy
	next    atomic.Uint64 // counts the requests
	own     *http.ServeMux
	ended   chan struct{}
}

// Balance starts a balancer at listen (host:port; port 0 for a free one) in front of instances.
func (s *Stack) Balance(listen string, instances ...*Instance) (*Balancer, error) {
	b := &Balancer{ended: make(chan struct{})}
	for _, instance := range instances {
		target, err := url.Parse(instance.URL)
		if err != nil {
			return nil, fmt.Errorf("balancer: %w", err)
		}
		b.proxies = append(b.proxies, proxy(target))
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("balancer: %w", err)
	}
	b.URL = "http://" + listener.Addr().String()
	b.own = http.NewServeMux()
	b.own.Handle("/", b)
	b.server = &http.Server{Handler: b.own, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(b.ended)
		_ = b.server.Serve(listener)
	}()
	s.add(b)
	return b, nil
}

// Handle answers the requests of a path, as "/ui/", by handler: they go to no instance, and the round robin does not count them.
func (b *Balancer) Handle(path string, handler http.Handler) { b.own.Handle(path, handler) }

// mostBody is above what an instance accepts. An instance ends the connection of a much longer body, and its answer can be lost.
const mostBody = 16 << 10

// ServeHTTP passes a request to the next instance.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", mostBody))
		return
	case err != nil: // the client has left
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	n := b.next.Add(1) - 1
	b.proxies[n%uint64(len(b.proxies))].ServeHTTP(w, r)
}

// Stop ends the balancer. Requests that it is passing on get one second.
func (b *Balancer) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := b.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = b.server.Close()
	}
	<-b.ended
	for _, p := range b.proxies {
		p.Transport.(*http.Transport).CloseIdleConnections()
	}
	return err
}

// unrepeatable hides that a body is empty. Without a body the transport repeats a GET whose connection broke, and here a GET counts.
type unrepeatable struct{ io.ReadCloser }

// proxy passes requests to one instance.
func proxy(target *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			if r.Out.Method == http.MethodGet {
				r.Out.Body = unrepeatable{http.NoBody}
			}
			r.SetXForwarded()
		},
		// A transport of its own that keeps the connections of a whole burst, so that a later request needs no new one.
		Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 14, IdleConnTimeout: time.Minute, DisableCompression: true},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				slog.Debug("balancer", "instance", target.Host, "error", err)
			}
			refuse(w, http.StatusBadGateway, "the balancer got no answer from "+target.Host)
		},
	}
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q}`, why)
}
