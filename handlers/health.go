package handlers

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/lockstrategy/preflight"
)

// readiness bounds the wait for the servers' answers.
const readiness = 2 * time.Second

// healthz shows that the process answers. It does not ask the servers behind it.
func (a *api) healthz(c *gin.Context) {
	owners := make(map[string]string)
	for _, v := range a.Versions {
		if v.Owner != "" {
			owners[v.Name] = v.Owner
		}
	}
	c.JSON(http.StatusOK, gin.H{
		"instance": a.Instance, "status": "ok", "topology": a.Topology, "build": a.Build, "versions": a.names(), "owners": owners,
	})
}

// readyz asks all servers simultaneously. It names those that do not answer, and the locks that their servers do not grant. It also tells
// what weakens the locks, which does not make the instance unready.
func (a *api) readyz(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readiness)
	defer cancel()
	var (
		unreachable = map[string]string{}
		found       []preflight.Report
		asked       sync.WaitGroup
	)
	if a.Preflight != nil {
		asked.Go(func() { found = a.Preflight(ctx) })
	}
	if a.Outages != nil {
		for name, err := range a.Outages.Ask(c.Request.Context()) {
			unreachable[name] = sentence(err)
		}
	}
	asked.Wait()
	for _, lock := range found {
		for _, w := range lock.Weaknesses {
			if w.Refuses && unreachable[lock.Lock] == "" { // the worst comes first
				unreachable[lock.Lock] = w.String()
			}
		}
	}
	status := http.StatusOK
	if len(unreachable) > 0 {
		status = http.StatusServiceUnavailable
	}
	answer := gin.H{"instance": a.Instance, "ready": len(unreachable) == 0, "unreachable": unreachable}
	if a.Preflight != nil {
		answer["preflight"] = found
	}
	c.JSON(status, answer)
}

//go:embed home.html
var homeSource string

var homePage = template.Must(template.New("home").Parse(homeSource))

func (a *api) home(c *gin.Context) {
	c.Header("Content-Type", "text/html; charset=utf-8")
	c.Status(http.StatusOK)
	err := homePage.Execute(c.Writer, gin.H{"Config": a.Config, "Caches": a.caches(), "Base": "http://" + c.Request.Host})
	if err != nil {
		a.Log.Warn("home page", "error", err)
	}
}
