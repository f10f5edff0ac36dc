// Package handlers is the HTTP interface of an instance.
//
// A version is a prefix of the URL, with or without a lock ([Version]); the handlers themselves know nothing about locks. Before a handler
// runs, limitRequest bounds the size of the request and the time that its body may take. One table maps errors to HTTP statuses
// (errors.go). When a client disconnects, its request's context ends, and the request stops waiting for the lock.
package handlers

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/lockstrategy"
	"locklab/lockstrategy/preflight"
	"locklab/order"
	"locklab/pview"
	"locklab/systems/shop"
	"locklab/versions"
)

// Locker runs fn while it holds key.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error
}

// Version is a version that this instance serves, with its open lock.
type Version struct {
	versions.Version
	Lock  *lockstrategy.Guard // nil: the version has no lock, but one atomic command
	Owner string              // the name under which the lock's server knows this process as an owner; empty: none
}

// Views counts page views.
type Views interface {
	Increment(ctx context.Context, name string, lock pview.Locker) (pview.View, error)
	IncrementAtomic(ctx context.Context) (pview.View, error)
	Get(ctx context.Context) (int64, error)
	GetStale(ctx context.Context) (int64, error)
	Set(ctx context.Context, value int64) error
}

// Orders keeps orders and lets drivers grab them.
type Orders interface {
	Create(ctx context.Context) (order.Order, error)
	Get(ctx context.Context, id uint64) (order.Order, error)
	Grab(ctx context.Context, lock order.Locker, a order.Attempt) (order.Result, error)
	GrabAtomic(ctx context.Context, a order.Attempt) (order.Result, error)
}

// Config configures an instance.
type Config struct {
	Instance   string // name of the instance, part of every response
	Topology   string // of Redis, for display
	Build      string // what the program was built from, for display
	Versions   []Version
	Wait       time.Duration // longest wait for a lock; a request may set a shorter one
	Views      Views
	Orders     Orders
	RateLimits RateLimits                               // without algorithms, the routes of the supplier do not exist
	Shop       *shop.Store                              // nil: the routes of the shop do not exist
	Parcels    shop.Worker                              // packs parcels for the shop's paid orders
	Caches     Caches                                   // nil: the routes of the items do not exist
	Outages    *Outages                                 // of the servers that the instance uses; may be nil
	Preflight  func(context.Context) []preflight.Report // what weakens the locks or keeps them from being granted, for /readyz; may be nil
	Metrics    *Metrics
	AdminToken string // required for requests that reset data; empty: not required
	Log        *slog.Logger
}

type api struct{ Config }

// gin's mode is a global variable. Setting it here, and not in New, keeps two instances from racing.
func init() { gin.SetMode(gin.ReleaseMode) }

// New returns the handler of an instance.
func New(cfg Config) http.Handler {
	a := &api{cfg}
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.Use(a.observe, a.recoverPanic, limitRequest)
	r.NoRoute(a.noRoute)
	r.NoMethod(a.noMethod)

	for _, v := range cfg.Versions {
		a.Metrics.startAtZero(v.Name)
		// GET is an alias: A4's @RequestMapping names no method, so it takes GET.
		methods, tag := []string{http.MethodPost, http.MethodGet}, a.tagVersion(v.Name)
		r.Match(methods, "/"+v.Name+"/pview", tag,
			handle("the view may have been counted: read the counter with GET /pview to find out", a.increment(v)))
		r.Match(methods, "/"+v.Name+"/orders/:id/grab", tag,
			handle("the driver may have won: repeat the request to find out", a.grab(v)))
	}
	if len(cfg.RateLimits.Algorithms) > 0 {
		a.addSupplierRoutes(r)
	}
	if a.Shop != nil {
		a.addShopRoutes(r)
	}
	for _, v := range a.cacheVariants() {
		r.GET("/"+v.Name+"/items/:id", a.tagVersion(v.Name), handle("", a.getItem(v)))
		r.PUT("/"+v.Name+"/items/:id", a.tagVersion(v.Name),
			handle("the item may have been updated, and the cache may be stale: read the item, then repeat if needed", a.putItem(v)))
	}
	r.PUT("/pview", a.requireAdmin, handle("the counter may have been set: read it with GET /pview to find out", a.setView))
	r.POST("/orders",
		handle("the order may have been created, but its id is unknown: repeating the request creates another order", a.createOrder))
	for path, read := range map[string]gin.HandlerFunc{
		"/pview":      handle("", a.getView),
		"/orders/:id": handle("", a.getOrder),
		"/healthz":    a.healthz,
		"/readyz":     a.readyz,
		"/metrics":    gin.WrapF(cfg.Metrics.serve),
		"/":           a.home,
	} { // probes send HEAD; net/http omits the body
		r.Match([]string{http.MethodGet, http.MethodHead}, path, read)
	}
	return r
}

// observe counts and logs a request after it was handled.
func (a *api) observe(c *gin.Context) {
	start := time.Now()
	c.Next()
	if c.Writer.Size() > 0 && strings.HasPrefix(c.Writer.Header().Get("Content-Type"), "application/json") {
		_, _ = c.Writer.WriteString("\n") // so that a terminal shows its prompt on a new line
	}
	version := c.GetString("version")
	a.Metrics.requests(version, c.Writer.Status()).Inc()
	if resource := c.GetString("stale"); resource != "" {
		a.Metrics.stale(version, resource).Inc()
	}
	failure, _ := c.Get("failure")
	if err, failed := failure.(error); failed && a.Outages != nil {
		a.Outages.ReportFailure("a request", err)
	}
	a.Log.Debug("request", "method", c.Request.Method, "path", c.Request.URL.Path,
		"status", c.Writer.Status(), "took", time.Since(start), "value", c.GetInt64("value"))
}

// recoverPanic responds with a 500 if a handler panics. gin's own recovery takes the error of any broken connection for a client that
// disconnected, and responds with a 200.
func (a *api) recoverPanic(c *gin.Context) {
	defer func() {
		if cause := recover(); cause != nil {
			a.Log.Error("panic", "path", c.Request.URL.Path, "cause", cause, "stack", string(debug.Stack()))
			c.AbortWithStatusJSON(http.StatusInternalServerError, gin.H{"error": "internal error: see the instance's log"})
		}
	}()
	c.Next()
}

// Limits of a request.
const (
	maxBody     = 4 << 10 // bytes
	maxQuery    = 1 << 10 // bytes
	bodyTimeout = 5 * time.Second
)

// limitRequest rejects a request that is too large and reads the body of any other. net/http notices that a client has disconnected
// only after the whole body was read.
func limitRequest(c *gin.Context) {
	if len(c.Request.URL.RawQuery) > maxQuery {
		fail(c, errQueryTooLong)
		return
	}
	connection := http.NewResponseController(c.Writer)
	_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err != nil {
		// Keep the deadline: net/http reads the rest of the body before it responds.
		fail(c, bodyError(err))
		return
	}
	// Without this, the deadline would end the request's context while it waits for a lock.
	_ = connection.SetReadDeadline(time.Time{})
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
}

// tagVersion sets the version for metrics and logs. No other part of a URL may become a label: the number of series would have no bound.
func (a *api) tagVersion(name string) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Set("version", name)
		c.Set("instance", a.Instance)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
