package stack

import (
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

// Balancer is a reverse proxy that gives each request to the next instance: a strict round robin,
// so that an even number of requests is halved exactly. It never repeats a request elsewhere, for
// one that is repeated counts twice; an instance that is away answers 502.
type Balancer struct {
	URL     string
	server  *http.Server
	proxies []*httputil.ReverseProxy
	turn    atomic.Uint64
	ended   chan struct{}
}

// Balance starts a balancer at listen (host:port; port 0 for a free one) in front of instances.
func (s *Stack) Balance(listen string, instances ...*Instance) (*Balancer, error) {
	b := &Balancer{ended: make(chan struct{})}
	for _, instance := range instances {
		target, err := url.Parse(instance.URL)
		if err != nil {
			return nil, fmt.Errorf("stack: balancer: %w", err)
		}
		b.proxies = append(b.proxies, proxy(target))
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("stack: balancer: %w", err)
	}
	b.URL = "http://" + listener.Addr().String()
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(b.ended)
		_ = b.server.Serve(listener)
	}()
	s.add(b)
	return b, nil
}

// ServeHTTP passes a request to the instance whose turn it is.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	turn := b.turn.Add(1) - 1
	b.proxies[turn%uint64(len(b.proxies))].ServeHTTP(w, r)
}

// Stop ends the balancer, and what runs through it after a second.
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

// once is an empty body that does not look like one: the transport repeats a GET whose connection
// broke, if it has no body. A GET counts here.
type once struct{ io.ReadCloser }

// proxy passes requests to one instance.
func proxy(target *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			if r.Out.Method == http.MethodGet {
				r.Out.Body = once{http.NoBody}
			}
			r.SetXForwarded()
		},
		// A transport of its own, with room for a burst, so that no connection is made twice.
		Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 14, IdleConnTimeout: time.Minute, DisableCompression: true},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				slog.Debug("balancer", "instance", target.Host, "error", err)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprintf(w, `{"error":"the balancer got no answer from %s"}`, target.Host)
		},
	}
}
