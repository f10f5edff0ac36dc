package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// client asks an app instance, or the balancer before several.
type client struct {
	base string // http://host:port
}

// request makes a request without a body for a burst. The base was parsed before, so that it
// cannot fail.
func (c client) request(method, path string) *http.Request {
	r, err := http.NewRequest(method, c.base+path, nil)
	if err != nil {
		panic(err)
	}
	return r
}

// call asks once and reads the JSON answer into result, unless that is nil. An answer outside 2xx
// is an error.
func (c client) call(ctx context.Context, method, path, body string, result any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.200s", method, path, response.Status, text)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(text, result)
}
