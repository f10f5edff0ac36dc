package handlers

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// readiness bounds the question whether the servers answer.
const readiness = 2 * time.Second

// healthz says that the process answers, and nothing about the servers behind it.
func (a *api) healthz(c *gin.Context) {
	c.JSON(http.StatusOK, gin.H{"instance": a.Instance, "status": "ok", "topology": a.Topology, "build": a.Build})
}

// readyz asks every server at the same time and names those that do not answer.
func (a *api) readyz(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readiness)
	defer cancel()
	var (
		mu          sync.Mutex
		unreachable = map[string]string{}
		asked       sync.WaitGroup
	)
	for _, check := range a.Checks {
		asked.Go(func() {
			if err := check.Ping(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				unreachable[check.Name] = sentence(err)
			}
		})
	}
	asked.Wait()
	status := http.StatusOK
	if len(unreachable) > 0 {
		status = http.StatusServiceUnavailable
	}
	c.JSON(status, gin.H{"instance": a.Instance, "ready": len(unreachable) == 0, "unreachable": unreachable})
}
