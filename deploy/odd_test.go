//go:build unix

package deploy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"locklab/handlers"
	"locklab/lab/testenv"
)

// The answer to an odd request, through nginx, compared with that of an instance.
const (
	same   = "the same"         // status, type and body are the instance's
	as     = "the same status"  // nginx refuses what net/http refuses too, whose answers are plain text
	strict = "nginx refuses it" // with 400 or 405. nginx's parser is stricter, and no setting changes that
	lax    = "nginx mends it"   // what the instance gets is correct
)

// oddRequests are what no browser and no load tool sends. ONE stands for Host, and for the end of the connection.
var oddRequests = []struct{ name, text, want string }{
	{"HTTP/1.0 without Host", "GET /healthz HTTP/1.0\r\n\r\n", same},
	{"a URL instead of a path", "GET http://other/healthz HTTP/1.1\r\nONE\r\n", same},
	{"a body above the bound", "PUT /pview HTTP/1.1\r\nONEContent-Length: 5000\r\n\r\n" + long(5000), same},
	{"a body of 10 MB", "PUT /pview HTTP/1.1\r\nONEContent-Length: 10000000\r\n\r\n" + long(10_000_000), same},
	{"a body in chunks", "PUT /pview HTTP/1.1\r\nONETransfer-Encoding: chunked\r\n\r\nc\r\n{\"value\": 0}\r\n0\r\n\r\n", same},
	{"a body that is not sent", "PUT /pview HTTP/1.1\r\nONEContent-Length: 100\r\n\r\n{", same},
	{"a query of 30 kB", "GET /pview?x=" + long(30_000) + " HTTP/1.1\r\nONE\r\n", same},
	{"headers of 30 kB", "GET /healthz HTTP/1.1\r\nONE" + strings.Repeat("X: "+long(1000)+"\r\n", 30) + "\r\n", same},
	{"an unknown method", "FETCH /pview HTTP/1.1\r\nONE\r\n", same},
	{"a method that is not for the path", "DELETE /pview HTTP/1.1\r\nONE\r\n", same},
	{"HEAD", "HEAD /pview HTTP/1.1\r\nONE\r\n", same},
	{"two slashes", "GET //pview HTTP/1.1\r\nONE\r\n", same},
	{"an escaped slash", "GET /pview%2f HTTP/1.1\r\nONE\r\n", same},
	{"Cyrillic", "GET /кот HTTP/1.1\r\nONE\r\n", same},
	{"a version that is not there", "POST /v9/pview HTTP/1.1\r\nONEAccept: text/html\r\n\r\n", same},
	{"the page of an instance, compressed", "GET / HTTP/1.1\r\nONEAccept-Encoding: gzip\r\nIf-None-Match: *\r\n\r\n", same},
	{"lines without a carriage return", "GET /healthz HTTP/1.1\nHost: lab\nConnection: close\n\n", same},

	{"HTTP/1.1 without Host", "GET /healthz HTTP/1.1\r\n\r\n", as},
	{"a host with a space", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", as},
	{"HTTP/2.0", "GET /healthz HTTP/2.0\r\nONE\r\n", as},
	{"an unknown transfer encoding", "PUT /pview HTTP/1.1\r\nONETransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", as},
	{"two lengths", "PUT /pview HTTP/1.1\r\nONEContent-Length: 1\r\nContent-Length: 2\r\n\r\n12", as},
	{"a chunk without a length", "PUT /pview HTTP/1.1\r\nONETransfer-Encoding: chunked\r\n\r\nxyz\r\n", as},
	{"a query of 100 kB", "GET /pview?x=" + long(100_000) + " HTTP/1.1\r\nONE\r\n", as},
	{"headers of 60 kB", "GET /healthz HTTP/1.1\r\nONE" + strings.Repeat("X: "+long(1000)+"\r\n", 60) + "\r\n", as},
	{"an unknown escape", "GET /%zz HTTP/1.1\r\nONE\r\n", as},
	{"a control character", "GET /a\x01b HTTP/1.1\r\nONE\r\n", as},
	{"a path without a slash", "GET pview HTTP/1.1\r\nONE\r\n", as},
	{"TLS", "\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n", as},
	{"TRACE", "TRACE /pview HTTP/1.1\r\nONE\r\n", as},

	{"a method in small letters", "get /pview HTTP/1.1\r\nONE\r\n", strict},
	{"a tunnel", "CONNECT lab:80 HTTP/1.1\r\nONE\r\n", strict},
	{"a path above the root", "GET /../pview HTTP/1.1\r\nONE\r\n", strict},
	{"an escaped zero", "GET /%00 HTTP/1.1\r\nONE\r\n", strict},
	{"options of the server", "OPTIONS * HTTP/1.1\r\nONE\r\n", strict},
	{"a length and chunks", "PUT /pview HTTP/1.1\r\nONEContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", strict},
	{"a header in two lines", "GET /healthz HTTP/1.1\r\nONEX: 1\r\n  2\r\n\r\n", strict},
	{"a line that is no header", "GET /healthz HTTP/1.1\r\nONEnothing\r\n\r\n", lax},
	{"an unknown expectation", "PUT /pview HTTP/1.1\r\nONEExpect: tea\r\nContent-Length: 12\r\n\r\n{\"value\": 0}", lax},
}

func long(n int) string { return strings.Repeat("x", n) }

// Through nginx a client gets what an instance says. Where nginx itself refuses a request, the answer is JSON too.
func TestOddRequestsAreAnsweredByTheInstance(t *testing.T) {
	testenv.Slow(t) // an instance waits 5 s for a body
	one, _ := instances(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- handlers.Serve(ctx, listener, one.Config.Handler, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { stop(); <-ended })
	instance := listener.Addr().String()
	n := start(t, instance, instance)
	balancer := strings.TrimPrefix(n.url, "http://")
	for _, odd := range oddRequests {
		t.Run(odd.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(odd.text, "ONE", "Host: lab\r\nConnection: close\r\n", 1)
			direct, through := exchanged(t, instance, balancer, text)
			if odd.want == same && direct != through {
				t.Errorf("the instance says %+.500v\nand nginx %+.500v", direct, through)
			}
			if odd.want == as && direct.Status != through.Status || odd.want == lax && through.Status != http.StatusOK ||
				odd.want == strict && through.Status != http.StatusBadRequest {
				t.Errorf("%s, but the instance says %+v\nand nginx %+v", odd.want, direct, through)
			}
			var refusal struct{ Error string }
			if through.Status < 400 || strings.HasPrefix(text, "HEAD ") {
				return
			}
			if err := json.Unmarshal([]byte(through.Body), &refusal); err != nil || refusal.Error == "" || through.Type != "application/json" {
				t.Errorf("no error as JSON: %+v", through)
			}
		})
	}
}

// said is an answer, without what differs in each.
type said struct {
	Status     int
	Type, Body string
	Allow      string
}

// exchanged sends one request to two addresses simultaneously.
func exchanged(t *testing.T, one, two, request string) (direct, through said) {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		var err error
		direct, err = exchange(one, request)
		failed <- err
	}()
	through, err := exchange(two, request)
	if err = errors.Join(err, <-failed); err != nil {
		t.Fatal(err)
	}
	return direct, through
}

func exchange(addr, request string) (said, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return said{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	go func() { _, _ = io.WriteString(conn, request) }() // a refusal may come before all is sent
	method, _, _ := strings.Cut(request, " ")
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return said{}, fmt.Errorf("%s gives no answer to %.60q: %w", addr, request, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return said{answer.StatusCode, kind, strings.TrimSpace(string(body)), answer.Header.Get("Allow")}, err
}
