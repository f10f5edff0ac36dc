package handlers

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// Bounds of a request. Every meaningful request is far below them.
const (
	maxBody  = 4 << 10 // bytes
	maxQuery = 1 << 10 // bytes
	readBody = 5 * time.Second
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

func unread(err error) error {
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		return errBodyTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errBodyTooSlow
	}
	return badRequest("the body could not be read: %v", err)
}

// admin lets a request pass that carries the admin token, and every request when none is configured. It compares hashes, which have
// equal length, so that the time of the comparison reveals nothing about the token.
func (a *api) admin(c *gin.Context) {
	if a.AdminToken == "" {
		return
	}
	scheme, sent, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	got, want := sha256.Sum256([]byte(sent)), sha256.Sum256([]byte(a.AdminToken))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		c.Header("WWW-Authenticate", `Bearer realm="locklab"`)
		fail(c, errNoToken)
	}
}
