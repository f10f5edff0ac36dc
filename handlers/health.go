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

// pingTimeout bounds the wait for the servers to answer a ping.
const pingTimeout = 2 * time.Second

// healthz shows that the process is alive. It does not ping any server.
func (a *api) healthz(c *gin.Context) {
	owners := make(map[string]string)
	for _, v := range a.Versions {
		if v.Owner != "" {
			owners[v.Name] = v.Owner
		}
	}
	c.JSON(http.StatusOK, gin.H{
		"instance": a.Instance, "status": "ok", "topology": a.Topology, "build": a.Build, "versions": a.versionNames(), "owners": owners,
	})
}

// readyz pings all servers at once and lists the unreachable ones, and the locks that their servers refuse to grant. It also lists what
// weakens a lock, and why c6 does not use its cache, which do not make the instance unready: it answers, and truly.
func (a *api) readyz(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), pingTimeout)
	defer cancel()
	var (
		unreachable = map[string]string{}
		reports     []preflight.Report
		running     sync.WaitGroup
	)
	if a.Preflight != nil {
		running.Go(func() { reports = a.Preflight(ctx) })
	}
	if a.Outages != nil {
		for name, err := range a.Outages.PingServers() {
			unreachable[name] = oneLine(err)
		}
	}
	running.Wait()
	for _, report := range reports {
		for _, w := range report.Weaknesses {
			if w.Refuses && unreachable[report.Lock] == "" { // the worst weakness comes first
				unreachable[report.Lock] = w.String()
			}
		}
	}
	status := http.StatusOK
	if len(unreachable) > 0 {
		status = http.StatusServiceUnavailable
	}
	response := gin.H{"instance": a.Instance, "ready": len(unreachable) == 0, "unreachable": unreachable}
	if a.Preflight != nil {
		response["preflight"] = reports
	}
	if a.Caches != nil {
		bypassed := map[string]string{}
		if err := a.Caches.Bypassed(); err != nil {
			bypassed["c6"] = oneLine(err)
		}
		response["bypassed"] = bypassed
	}
	c.JSON(status, response)
}

//go:embed home.html
var homeSource string

var homePage = template.Must(template.New("home").Parse(homeSource))

func (a *api) home(c *gin.Context) {
	c.Header("Content-Type", "text/html; charset=utf-8")
	c.Status(http.StatusOK)
	err := homePage.Execute(c.Writer, gin.H{"Config": a.Config, "Caches": a.cacheVariants(), "Base": "http://" + c.Request.Host})
	if err != nil {
		a.Log.Warn("home page not sent", "error", err)
	}
}
