// Package handlers answers HTTP. It makes no decisions about locks.
//
// Every request passes this file, and is bounded first. A version is a prefix of the URL, with a lock or without ([Version]). One
// table turns errors into statuses (errors.go). A client that disconnects ends its request's context, and the request stops waiting for
// the lock.
package handlers

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"locklab/lockstrategy"
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
	Lock  *lockstrategy.Guard // nil: no lock, but one atomic command
	Owner string              // by which its server names this process as the owner of a lock; empty: by none
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

// Config is what an instance is made of.
type Config struct {
	Instance   string // its name, in every answer
	Topology   string // for people
	Build      string // what the program was built from, for people
	Versions   []Version
	Wait       time.Duration // longest wait for a lock; a request may ask for less
	Views      Views
	Orders     Orders
	Limited    Limited                                  // calls to a supplier, under a limit; without algorithms there are none
	Shop       *shop.Store                              // nil: this instance has no shop
	Parcels    shop.Worker                              // of the shop
	Caches     Caches                                   // nil: there are none
	Outages    *Outages                                 // of the instance's servers; nil: it has none
	Preflight  func(context.Context) []preflight.Report // for /readyz: what weakens the locks, and what refuses them. Nil: there is none
	Metrics    *Metrics
	AdminToken string // required to reset data; empty: none is required
	Log        *slog.Logger
}

type api struct{ Config }

// The mode is gin's global variable: here no two instances set it simultaneously.
func init() { gin.SetMode(gin.ReleaseMode) }

// New returns the handler of an instance.
func New(cfg Config) http.Handler {
	a := &api{cfg}
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.Use(a.observe, a.recovered, bound)
	r.NoRoute(a.noRoute)
	r.NoMethod(a.noMethod)

	for _, v := range cfg.Versions {
		// GET is an alias: A4's @RequestMapping names no method, so it takes GET.
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
		"/orders/:id": identified(theOrder, a.getOrder),
		"/healthz":    a.healthz,
		"/readyz":     a.readyz,
		"/metrics":    gin.WrapH(promhttp.HandlerFor(cfg.Metrics.registry, promhttp.HandlerOpts{})),
		"/":           a.home,
	} { // probes send HEAD; net/http omits the answer's body
		r.Match([]string{http.MethodGet, http.MethodHead}, path, read)
	}
	return r
}

func (a *api) observe(c *gin.Context) {
	start := time.Now()
	c.Next()
	if c.Writer.Size() > 0 && strings.HasPrefix(c.Writer.Header().Get("Content-Type"), "application/json") {
		_, _ = c.Writer.WriteString("\n") // a terminal shows its prompt on a line of its own
	}
	version := c.GetString("version")
	a.Metrics.requests.WithLabelValues(version, strconv.Itoa(c.Writer.Status())).Inc()
	if resource := c.GetString("stale"); resource != "" {
		a.Metrics.stale.WithLabelValues(version, resource).Inc()
	}
	outage, _ := c.Get("outage")
	if err, failed := outage.(error); failed && a.Outages != nil {
		a.Outages.Failed("a request", err)
	}
	a.Log.Debug("request", "method", c.Request.Method, "path", c.Request.URL.Path,
		"status", c.Writer.Status(), "took", time.Since(start), "value", c.GetInt64("value"))
}

// recovered answers for a handler that panics. gin's own recovery treats the error of any broken connection as a client that
// disconnected, and answers 200.
func (a *api) recovered(c *gin.Context) {
	defer func() {
		if cause := recover(); cause != nil {
			a.Log.Error("panic", "path", c.Request.URL.Path, "cause", cause, "stack", string(debug.Stack()))
			c.AbortWithStatusJSON(http.StatusInternalServerError, gin.H{"error": "internal error; the instance's log says more"})
		}
	}()
	c.Next()
}

// Bounds of a request. Every meaningful request is far below them.
const (
	maxBody  = 4 << 10 // bytes
	maxQuery = 1 << 10 // bytes
	readBody = 5 * time.Second
	maxID    = 1<<31 - 1 // orders and drivers: what fits every database's signed integer
)

// bound refuses a request that is too large, and reads the body of every other one. net/http detects that a client has disconnected
// only when it has read the whole request.
func bound(c *gin.Context) {
	if len(c.Request.URL.RawQuery) > maxQuery {
		fail(c, errQueryTooLong)
		return
	}
	connection := http.NewResponseController(c.Writer)
	_ = connection.SetReadDeadline(time.Now().Add(readBody))
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err != nil {
		// The deadline stays: net/http reads the rest of the body before it answers.
		fail(c, unread(err))
		return
	}
	// Without this, the deadline would end the request's context while it waits for a lock.
	_ = connection.SetReadDeadline(time.Time{})
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
}

// inVersion sets the version for metrics and logs: no other part of the URL may label a metric.
func (a *api) inVersion(name string) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Set("version", name)
		c.Set("instance", a.Instance)
	}
}

// answered makes a handler of one that answers or returns an error.
func answered(handle func(c *gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := handle(c); err != nil {
			fail(c, err)
		}
	}
}

// identified makes a handler of one that answers for the thing that a path names by its id. what is its kind, for people.
func identified(what string, handle func(c *gin.Context, id uint64) error) gin.HandlerFunc {
	return answered(func(c *gin.Context) error {
		id, err := number(what, c.Param("id"))
		if err != nil {
			return err
		}
		return handle(c, id)
	})
}

func one(c *gin.Context, name string) (string, error) {
	values := c.QueryArray(name)
	if len(values) > 1 {
		return "", badRequest("%s is given %d times; give it once", name, len(values))
	}
	return c.Query(name), nil
}

func number(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > maxID {
		return 0, badRequest("%s is %.20q; it must be a whole number from 1 to %d", name, text, maxID)
	}
	return n, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
