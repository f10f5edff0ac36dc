package handlers

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/gin-gonic/gin"
)

// requireAdmin rejects a request without the admin token. If no token is configured, it lets every request pass. It compares hashes, which
// have equal length, so that the time of the comparison reveals nothing about the token.
func (a *api) requireAdmin(c *gin.Context) {
	if a.AdminToken == "" {
		return
	}
	scheme, token, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(a.AdminToken))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		c.Header("WWW-Authenticate", `Bearer realm="locklab"`)
		fail(c, errNoToken)
	}
}
