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

// Preflight is what weakens a version's lock on the servers that it has here.
type Preflight struct {
	Lock       string     `json:"lock"` // "v3"
	At         time.Time  `json:"at"`   // when the servers were asked
	Weaknesses []Weakness `json:"weaknesses"`
	Unknown    []Unknown  `json:"unknown"`
}

// Weakness is one reason why a lock is weaker than it could be.
type Weakness struct {
	Where  []string `json:"where"` // servers
	What   string   `json:"what"`
	Why    string   `json:"why"`
	Remedy string   `json:"remedy"`
	Grave  bool     `json:"grave"` // this is no lock at all
}

// Unknown is what servers did not tell.
type Unknown struct {
	Where []string `json:"where"`
	What  string   `json:"what"`
	Why   string   `json:"why"`
}

// readyz asks every server at the same time and names those that do not answer. What weakens a lock
// is told beside it: the instance is ready all the same.
func (a *api) readyz(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readiness)
	defer cancel()
	var (
		mu          sync.Mutex
		unreachable = map[string]string{}
		found       []Preflight
		asked       sync.WaitGroup
	)
	if a.Preflight != nil {
		asked.Go(func() { found = a.Preflight(ctx) })
	}
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
	answer := gin.H{"instance": a.Instance, "ready": len(unreachable) == 0, "unreachable": unreachable}
	if a.Preflight != nil {
		answer["preflight"] = found
	}
	c.JSON(status, answer)
}
