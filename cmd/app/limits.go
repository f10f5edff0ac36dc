package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"locklab/handlers"
	"locklab/systems/ratelimit"
)

// limitFlags limit the calls to the supplier, as in article A0.
type limitFlags struct {
	Supplier       string        `placeholder:"URL" help:"URL of the supplier that /rN/supplier/call calls (default: a stand-in in each instance, which keeps its log in Redis)."`
	SupplierLimit  int           `default:"2000" placeholder:"N" help:"Number of calls that the supplier allows per window from all instances together, as in the article."`
	SupplierWindow time.Duration `default:"1m" help:"Window of --supplier-limit."`
	Nodes          int           `default:"2" placeholder:"N" help:"Number of instances that share the limit; only /r7 uses it."`
	LimiterFails   string        `default:"closed" enum:"closed,open" placeholder:"MODE" help:"What to do with calls while Redis does not answer: closed refuses them with 503, open makes them and may exceed the limit."`
}

const (
	// maxTransit is the longest time that a call may take to arrive. Our windows are longer by it, because calls that we admit far enough
	// apart can arrive closer together.
	maxTransit = 250 * time.Millisecond
	// limiterTimeout is the longest wait for the counter in Redis.
	limiterTimeout = time.Second
)

// booking has the defaults of A0's annotation: 5 calls in 5 seconds.
var booking = ratelimit.Limit{Key: "bookings", Count: 5, Window: 5 * time.Second}

func (f *limitFlags) rates() ratelimit.Limit {
	return ratelimit.Limit{Key: "rates", Count: f.SupplierLimit, Window: f.SupplierWindow}
}

func (f *limitFlags) validate() error {
	if u, err := url.Parse(f.Supplier); f.Supplier != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return usageErrorf("--supplier is %q; it must be http://host:port", f.Supplier)
	}
	if err := f.rates().Validate(); err != nil {
		return usageErrorf("--supplier-limit and --supplier-window: %w", err)
	}
	return validateRange("--nodes", f.Nodes, 1, 1000)
}

// open opens the limiters on the Redis of the counter. listening is the address of this instance, whose stand-in is the default supplier.
// Idle connections to the supplier are closed when ctx ends.
func (f *limitFlags) open(ctx context.Context, p *parts, listening net.Addr) (handlers.RateLimits, error) {
	l := handlers.RateLimits{
		Operations: map[string]ratelimit.Limit{"rates": f.rates(), "bookings": booking},
		Incoming:   ratelimit.Limit{Key: "quotes", Count: 5, Window: 5 * time.Second},
		URL:        cmp.Or(f.Supplier, "http://"+localAddr(listening.String())), Supplier: ratelimit.NewSupplier(p.redis.Master),
	}
	outgoing := http.DefaultTransport.(*http.Transport).Clone()
	outgoing.MaxIdleConnsPerHost = 256
	// The supplier may be this instance, and a server that shuts down waits 5 s for a connection that has carried no request.
	context.AfterFunc(ctx, outgoing.CloseIdleConnections)
	p.closers = append(p.closers, func() error { outgoing.CloseIdleConnections(); return nil })
	for _, algorithm := range ratelimit.All() {
		limiter, err := f.newLimiter(p, algorithm)
		if err != nil {
			return l, err
		}
		declared := make(map[string]ratelimit.Limit)
		for name, limit := range l.Operations {
			limit.Window += maxTransit
			declared["POST "+handlers.SupplierPath(algorithm.Name, name)] = limit
		}
		transport, err := ratelimit.NewTransport(limiter, declared)
		if err != nil {
			return l, err
		}
		transport.Base = outgoing
		l.Algorithms = append(l.Algorithms, handlers.Algorithm{Algorithm: algorithm, Limiter: limiter, Outgoing: transport})
	}
	return l, nil
}

func (f *limitFlags) newLimiter(p *parts, algorithm ratelimit.Algorithm) (ratelimit.Limiter, error) {
	limiter, err := algorithm.Open(p.redis.Master, f.Nodes)
	if err != nil {
		return nil, err
	}
	mode := ratelimit.FailClosed
	if f.LimiterFails == "open" {
		mode = ratelimit.FailOpen
	}
	return ratelimit.Failing(limiter, mode, limiterTimeout)
}
