package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"locklab/handlers"
	"locklab/ratelimit"
)

// limitFlags are the limits of the calls to the supplier (A0).
type limitFlags struct {
	Supplier       string        `placeholder:"URL" help:"Address of the supplier of /rN/supplier/call (default: the stand-in that each instance has, with its log in Redis)."`
	SupplierLimit  int           `default:"2000" placeholder:"N" help:"Calls that the supplier allows in any window, over all instances; as in the article."`
	SupplierWindow time.Duration `default:"1m" help:"Window of that limit."`
	Nodes          int           `default:"2" placeholder:"N" help:"Number of instances that share the limit. Only /r7 divides the limit by it."`
	LimiterFails   string        `default:"closed" enum:"closed,open" placeholder:"MODE" help:"Mode while Redis does not answer: closed refuses calls with 503, open makes them and may exceed the limit."`
}

const (
	// arrival is the longest time that a call may be on its way. Our windows are longer by it: calls that are admitted far enough
	// apart can arrive closer together.
	arrival = 250 * time.Millisecond
	// limiterTimeout is the longest wait for the counter.
	limiterTimeout = time.Second
)

// booking has the defaults of A0's annotation: 5 calls in 5 seconds.
var booking = ratelimit.Limit{Key: "bookings", Count: 5, Window: 5 * time.Second}

func (f *limitFlags) rates() ratelimit.Limit {
	return ratelimit.Limit{Key: "rates", Count: f.SupplierLimit, Window: f.SupplierWindow}
}

func (f *limitFlags) validate() error {
	if u, err := url.Parse(f.Supplier); f.Supplier != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return misuse("--supplier is %q; it must be http://host:port", f.Supplier)
	}
	if err := f.rates().Validate(); err != nil {
		return misuse("--supplier-limit and --supplier-window: %w", err)
	}
	return within("--nodes", f.Nodes, 1, 1000)
}

// open opens the limiters over the Redis of the counter. listening is the address of this instance, which ends with ctx.
func (f *limitFlags) open(ctx context.Context, p *parts, listening net.Addr) (handlers.Limited, error) {
	l := handlers.Limited{
		Operations: map[string]ratelimit.Limit{"rates": f.rates(), "bookings": booking},
		Incoming:   ratelimit.Limit{Key: "quotes", Count: 5, Window: 5 * time.Second},
		URL:        cmp.Or(f.Supplier, ownURL(listening)), Supplier: ratelimit.NewSupplier(p.redis.Master),
	}
	outgoing := http.DefaultTransport.(*http.Transport).Clone()
	outgoing.MaxIdleConnsPerHost = 256
	context.AfterFunc(ctx, outgoing.CloseIdleConnections) // it may call itself, and a server waits 5 s for a connection without a request
	p.closers = append(p.closers, func() error { outgoing.CloseIdleConnections(); return nil })
	for _, algorithm := range ratelimit.All() {
		limiter, err := f.limiter(p, algorithm)
		if err != nil {
			return l, err
		}
		declared := make(map[string]ratelimit.Limit)
		for name, limit := range l.Operations {
			limit.Window += arrival
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

func (f *limitFlags) limiter(p *parts, algorithm ratelimit.Algorithm) (ratelimit.Limiter, error) {
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

// ownURL is where an instance reaches itself.
func ownURL(listening net.Addr) string {
	addr := listening.(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: addr.Port}
	}
	return "http://" + addr.String()
}
