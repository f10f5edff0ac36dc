package handlers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

// Bounds of a request. Every meaningful request is far below them.
const (
	maxBody  = 4 << 10 // bytes
	maxQuery = 1 << 10 // bytes
	readBody = 5 * time.Second
)

// bound refuses a request that is too large, and reads the body of every other one: net/http detects that a client has disconnected
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

// unread is the error for a body that could not be read.
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
