// Package handlers answers HTTP. It makes no decisions about locks.
//
// A request is bounded first (bound.go). A version is a prefix of the URL, with a lock or without ([Version]). One table turns errors
// into statuses (errors.go). A client that disconnects ends its request's context, and the request stops waiting for the lock.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"locklab/lockstrategy/preflight"
	"locklab/order"
	"locklab/pview"
	"locklab/shop"
	"locklab/versions"
)

// Locker runs fn while it holds key, as both scenarios need it.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error
}

// Version is one way to do the same work, opened.
type Version struct {
	versions.Version
	Lock Locker // nil: no lock, but one atomic command
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

// Check asks a server that the instance needs whether it answers.
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
	Limited    Limited     // calls to a supplier, under a limit; without algorithms there are none
	Shop       *shop.Store // nil: this instance has no shop
	Parcels    shop.Worker // of the shop
	Caches     Caches      // nil: there are none
	Checks     []Check
	Preflight  func(context.Context) []preflight.Found // for /readyz: what weakens the locks, and what refuses them. Nil: there is none
	Metrics    *Metrics
	AdminToken string // required to reset data; empty: none is required
	Log        *slog.Logger
}

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
	if len(cfg.Limited.Algorithms) > 0 {
		a.limits(r)
	}
	a.shopRoutes(r)
	for _, v := range a.caches() {
		r.GET("/"+v.Name+"/items/:id", a.inVersion(v.Name), a.getItem(v))
		r.PUT("/"+v.Name+"/items/:id", a.inVersion(v.Name), a.putItem(v))
	}
	r.PUT("/pview", a.admin, answered(a.setView))
	r.POST("/orders", answered(a.createOrder))
	for path, read := range map[string]gin.HandlerFunc{
		"/pview":      answered(a.getView),
		"/orders/:id": answered(a.getOrder),
		"/healthz":    a.healthz,
		"/readyz":     a.readyz,
		"/metrics":    gin.WrapH(promhttp.HandlerFor(cfg.Metrics.registry, promhttp.HandlerOpts{})),
		"/":           a.home,
	} { // probes send HEAD; net/http omits the answer's body
		r.Match([]string{http.MethodGet, http.MethodHead}, path, read)
	}
	return r
}

// inVersion sets the version for metrics and logs: no other part of the URL may label a metric.
func (a *api) inVersion(name string) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Set("version", name)
		c.Set("instance", a.Instance)
	}
}

func (a *api) observe(c *gin.Context) {
	start := time.Now()
	c.Next()
	version := c.GetString("version")
	a.Metrics.requests.WithLabelValues(version, strconv.Itoa(c.Writer.Status())).Inc()
	if resource := c.GetString("stale"); resource != "" {
		a.Metrics.stale.WithLabelValues(version, resource).Inc()
	}
	a.Log.Debug("request", "method", c.Request.Method, "path", c.Request.URL.Path,
		"status", c.Writer.Status(), "took", time.Since(start), "value", c.GetInt64("value"))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
