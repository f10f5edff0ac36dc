// Package handlers answers HTTP: requests in, answers out, no decisions of its own about locks.
//
// A request is bounded before anything else happens (bound.go), a version is a lock or its absence
// ([Version]), and every error becomes a status in one table (errors.go). A client that goes away
// ends its request's context, and with it its place in a queue.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/order"
	"locklab/pview"
)

// Locker runs fn while it holds key; both scenarios ask for it.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, fence uint64) error) error
}

// Version is one way to do the same work, and a prefix of the URL.
type Version struct {
	Name string // "v3"
	Does string // one line for people: what protects the work
	Lock Locker // nil: no lock, but one atomic command
}

// Views counts page views.
type Views interface {
	Increment(ctx context.Context, lock pview.Locker) (pview.View, error)
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

// Check asks a server that the instance needs for an answer.
type Check struct {
	Name string
	Ping func(ctx context.Context) error
}

// Config is what an instance is made of.
type Config struct {
	Instance   string // its name, in every answer
	Topology   string // for people
	Build      string // what the program was built from, for people
	Versions   []Version
	Views      Views
	Orders     Orders
	Checks     []Check
	Preflight  func(context.Context) []Preflight // for /readyz, which it does not make unready; nil: none is made
	Metrics    *Metrics
	AdminToken string // asked for by what resets; empty: nobody is asked
	Log        *slog.Logger
}

// api serves one instance.
type api struct{ Config }

// New returns the handler of an instance.
func New(cfg Config) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	a := &api{cfg}
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.Use(a.observe, a.recovered, bound)
	r.NoRoute(a.noRoute)
	r.NoMethod(a.noMethod)

	for _, v := range cfg.Versions {
		// GET is an alias, because the articles' load plans use it.
		r.Match([]string{http.MethodPost, http.MethodGet}, "/"+v.Name+"/pview", a.inVersion(v.Name), a.increment(v))
		r.Match([]string{http.MethodPost, http.MethodGet}, "/"+v.Name+"/orders/:id/grab", a.inVersion(v.Name), a.grab(v))
	}
	r.PUT("/pview", a.admin, a.setView)
	r.POST("/orders", a.createOrder)
	for path, read := range map[string]gin.HandlerFunc{
		"/pview":      a.getView,
		"/orders/:id": a.getOrder,
		"/healthz":    a.healthz,
		"/readyz":     a.readyz,
		"/metrics":    gin.WrapH(cfg.Metrics.handler()),
		"/":           a.home,
	} { // probes ask with HEAD; net/http leaves the answer's body out
		r.Match([]string{http.MethodGet, http.MethodHead}, path, read)
	}
	return r
}

// inVersion notes the version for metrics and logs: no other part of the URL may label a metric.
func (a *api) inVersion(name string) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Set("version", name)
		c.Set("instance", a.Instance)
	}
}

// observe counts every request, and logs it when that is asked for.
func (a *api) observe(c *gin.Context) {
	start := time.Now()
	c.Next()
	a.Metrics.request(c.GetString("version"), c.Writer.Status())
	if resource := c.GetString("stale"); resource != "" {
		a.Metrics.staleWrite(c.GetString("version"), resource)
	}
	a.Log.Debug("request", "method", c.Request.Method, "path", c.Request.URL.Path,
		"status", c.Writer.Status(), "took", time.Since(start), "value", c.GetInt64("value"))
}

// milliseconds is how durations stand in answers.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
